"""A perturbation is one file."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.data.perturbations.base import find_perturbation, perturbed

FILE = """
from hashbench.data.perturbations.base import Perturbation

PERTURBATIONS = (
    Perturbation("stars", "letters become stars", lambda word, draw: "*" * len(word)),
    Perturbation("known", "words of the corpora", lambda word, draw, seen: "!" if word in seen else None, True),
)
"""


@pytest.fixture
def stars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The registry with one more file."""
    (tmp_path / "stars.py").write_text(FILE)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(tmp_path))


def test_a_file_adds_perturbations(stars: None) -> None:
    assert perturbed("a good movie", "stars", [0.0, 1.0], seed=0) == ["a good movie", "* **** *****"]
    assert find_perturbation("stars").words == "letters become stars"


def test_one_that_needs_a_corpus_is_given_its_words(stars: None) -> None:
    assert perturbed("a good movie", "known", [1.0], seed=0, seen=frozenset({"good"})) == ["a ! movie"]
    with pytest.raises(ValueError, match="kind known needs the words that a pre-training saw"):
        perturbed("a good movie", "known", [1.0], seed=0)
