"""Claims of the user's own in an experiment file: a list there, or a CSV of the same columns beside it."""

from __future__ import annotations

from pathlib import Path

from hashbench.claims.grammar import Claim, csv_rows, read_rows
from hashbench.experiment.schema import ClaimEntry


def checked_claims(claims: str | tuple[ClaimEntry, ...], folder: Path, where: list[str]) -> tuple[ClaimEntry, ...]:
    """The claims as entries, their grammar checked; a CSV's rows stand in its place, so that they are stored.

    `folder`: to which a path is relative. `where`: file and line of each entry. Raises InputError.
    """
    if isinstance(claims, str):
        rows, where = csv_rows(folder / Path(claims).expanduser())
        return tuple(_entry(claim) for claim in read_rows(rows, where))
    return tuple(_entry(claim) for claim in read_rows([entry.model_dump() for entry in claims], where))


def _entry(claim: Claim) -> ClaimEntry:
    return ClaimEntry(**{name: getattr(claim, name) for name in ClaimEntry.model_fields})
