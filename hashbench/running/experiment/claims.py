"""Claims of the user's own in an experiment file: a list there, or a CSV of the same columns beside it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hashbench.common.errors import located, near_match
from hashbench.results.claims.grammar import Claim, csv_rows, read_rows
from hashbench.running.experiment.schema import ClaimEntry


def checked_claims(
    claims: str | tuple[ClaimEntry, ...], folder: Path, key: str, where: list[str]
) -> tuple[ClaimEntry, ...]:
    """The claims as entries, their grammar checked; a CSV's rows stand in its place, so that they are stored.

    `folder`: to which a path is relative. `key`, `where`: file and line of the key and of each entry. Raises
    InputError.
    """
    if isinstance(claims, str):
        with located(key):
            rows, where = csv_rows(folder / Path(claims).expanduser())
        return tuple(_entry(claim) for claim in read_rows(rows, where))
    return tuple(_entry(claim) for claim in read_rows([entry.model_dump() for entry in claims], where))


def absent_from(claims: Sequence[ClaimEntry], models: Sequence[str], tasks: Mapping[str, Iterable[str]]) -> list[str]:
    """A note on every claim that names a model or a column which an experiment of these does not have.

    `tasks`: the metrics of each. Such a claim may be meant for another selection of models, so it is no error.
    """
    if not claims:
        return []
    from hashbench.results.claims.columns import is_nameable, nameable

    rows = [entry.model_dump() for entry in claims]
    found = []
    for claim in read_rows(rows, [""] * len(rows)):
        names = [
            f"no model {slug!r} in this experiment{near_match(slug, list(models))}"
            for slug in claim.slugs if slug not in models
        ]  # fmt: skip
        columns = dict.fromkeys(column.name for part in claim.parts for _, column in part.leaves)
        names += [
            f"no column {name!r}{near_match(name, nameable(tasks))}" for name in columns if not is_nameable(name, tasks)
        ]
        found += [f"claim {claim.id} will not be decided: {'; '.join(names)}"] if names else []
    return found


def _entry(claim: Claim) -> ClaimEntry:
    return ClaimEntry(**{name: getattr(claim, name) for name in ClaimEntry.model_fields})
