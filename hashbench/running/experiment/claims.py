"""User-defined claims of an experiment file: the keys of an entry, and the check of entries or of a CSV of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from hashbench.common.errors import InputError, located, near_match
from hashbench.data.tasks.blocks import Strict
from hashbench.results.claims.claim import KINDS, Claim, csv_rows, read_rows


class ClaimEntry(Strict):
    """A user-defined comparison that `hashbench report claims` decides; the grammar is that of the papers' claims \
(claims.md)."""

    id: str = Field(min_length=1, description="unique among the claims; claims that differ in a last letter are folded")
    kind: str = Field(description=f"{', '.join(KINDS)}: as in claims.md")
    left: str | int | float = Field(
        description=(
            "a model, a number, mean(a,b), min(a,b), max(a,b), or 'a - b' or 'a / b' of these; of an ordering a chain"
            " 'a > b ~ c'"
        ),
    )
    right: str | int | float = Field(
        default="",
        description=f"what is compared with; empty for {', '.join(name for name in KINDS if KINDS[name].one_side)}",
    )
    column: str = Field(
        description=(
            "a task, average, a size or time (total_params, infer_ms), a column of a paper's table; mean(c,d), 'c - "
            "d', each(c,d)"
        ),
    )
    bound: float = Field(default=0.0, description="the claimed threshold in the unit")
    expected: float | None = Field(
        default=None, description="the number that is claimed (count), or that was once measured"
    )
    unit: str = Field(default="percent", description="percent, x, ms/sample, params, K, M, Mi, B, KB, MB")
    statement: str = Field(default="", description="the claim in words")
    needs: str = Field(default="", description="as in claims.md: seeds=3; corpus=one for both")
    paper: str = Field(
        default="", description="the paper whose names of models and columns are used; empty: the experiment's own"
    )
    section: str = Field(default="", description="where it is claimed")
    note: str = Field(default="", description="tags and words to print beside the verdict")

    @model_validator(mode="before")
    @classmethod
    def _without_published_holds(cls, values: Any) -> Any:
        """The values of an entry without `published_holds`, a column of the papers' claims that a user may copy."""
        return {key: values[key] for key in values if key != "published_holds"} if isinstance(values, dict) else values


def checked_claims(
    claims: str | tuple[ClaimEntry, ...], folder: Path, key: str, where: list[str]
) -> tuple[ClaimEntry, ...]:
    """The claims of a file as entries with their grammar checked, read from a CSV where they are its path.

    `folder`: to which a path is relative. `key`, `where`: file and line of the key and of each entry. Raises
    InputError.
    """
    if isinstance(claims, str):
        with located(key):
            rows, where = csv_rows(folder / Path(claims).expanduser())
        return tuple(_entry(claim) for claim in read_rows(rows, where))
    return tuple(_entry(claim) for claim in read_rows([entry.model_dump() for entry in claims], where))


def absent_from(
    claims: Sequence[ClaimEntry],
    models: Sequence[str],
    tasks: Mapping[str, Iterable[str]],
    where: Sequence[str],
    *,
    selected: bool = False,
) -> list[str]:
    """A note on each claim that names a model or column absent from an experiment with these models and tasks.

    `tasks`: the metrics of each; `where`: file and line of each claim. Raises InputError for a claim on a number that
    is neither a model nor a constant, and on a model that is none: it is a paper's, or, where the call selects some
    models of a file (`selected`), perhaps one of the others.
    """
    if not claims:
        return []
    from hashbench.results.claims.columns import is_nameable, nameable, published_models

    rows = [entry.model_dump() for entry in claims]
    notes = []
    for claim in read_rows(rows, where, models):
        absent = {slug: near_match(slug, list(models)) for slug in claim.slugs if slug not in models}
        for slug, near in absent.items():
            if not selected and slug not in published_models():
                has = f"it has {', '.join(models)}"
                raise InputError(
                    f"{claim.where}: claim {claim.id!r}: no model {slug!r} in this experiment{near}; {has}"
                )
        names = [f"no model {slug!r} in this experiment{near}" for slug, near in absent.items()]
        columns = dict.fromkeys(column.name for part in claim.parts for _, column in part.leaves)
        names += [
            f"no column {name!r}{near_match(name, nameable(tasks))}" for name in columns if not is_nameable(name, tasks)
        ]
        notes += [f"claim {claim.id} will not be decided: {'; '.join(names)}"] if names else []
    return notes


def _entry(claim: Claim) -> ClaimEntry:
    return ClaimEntry(**{name: getattr(claim, name) for name in ClaimEntry.model_fields} | {"kind": claim.kind.name})
