"""Common misspellings of English words, from a list."""

from __future__ import annotations

import csv
from functools import lru_cache
from importlib.resources import files

from hashbench.data.perturbations.base import Perturbation, as_cased


def misspelling(word: str, draw: int) -> str | None:
    """A common misspelling of a word on the list."""
    known = misspellings()
    lower = word.lower().replace("’", "'")
    if lower not in known:
        return None
    wrong = known[lower]
    return as_cased(wrong[draw % len(wrong)], word)


@lru_cache(maxsize=1)
def misspellings() -> dict[str, tuple[str, ...]]:
    """Common misspellings by the right word, lower-cased."""
    text = (files("hashbench.data.perturbations") / "misspellings.csv").read_text(encoding="utf-8")
    return {row["word"]: tuple(row["misspellings"].split()) for row in csv.DictReader(text.splitlines())}


PERTURBATIONS = (Perturbation("misspelling", "common misspellings", misspelling),)
