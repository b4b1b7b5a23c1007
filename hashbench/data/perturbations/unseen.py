"""Forms of a word that the corpora of a pre-training lack."""

from __future__ import annotations

from hashbench.data.perturbations.base import Perturbation, as_cased
from hashbench.data.perturbations.inflections import unseen_form


def unseen(word: str, draw: int, *, seen: frozenset[str]) -> str | None:
    """A form of the word that is not among the words seen."""
    form = unseen_form(word.lower(), draw, seen)
    return None if form is None else as_cased(form, word)


PERTURBATIONS = (Perturbation("unseen", "forms unseen in pre-training", unseen, needs_corpus=True),)
