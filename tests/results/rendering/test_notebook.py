"""Reports as a notebook shows them."""

from __future__ import annotations

from pathlib import Path

import pytest

import hashbench
from hashbench.common.errors import InputError
from hashbench.results.rendering.registry import render
from tests.databases.made_up import World, build


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("notebook") / "results.db"
    world = World(tasks=("cola", "sst2"), seeds=(0, 1), notes={"sst2": {"origin": "builtin", "data": "<script>a & b"}})
    build(path, world).close()
    return path


def test_a_table_has_the_numbers_of_the_text_and_runs_nothing_of_the_data(place: Path) -> None:
    shown = hashbench.report("made-up", db=place)
    text = shown._repr_markdown_()
    rows = [line.split(" | ")[0].removeprefix("| ") for line in text.splitlines() if line.startswith("| ")]
    models = ["bert-mlm", "hashformer-md-emb-50k", "hashformer-lsh-proj", "majority", "bag-of-words"]
    assert [row for row in rows if not row.startswith("**")][1:] == models
    assert "<script" not in text and "BUILT-IN DATA" in text
    assert str(shown) == render(shown.tables) and repr(shown) == str(shown)


def test_a_papers_table_stands_beside_its_numbers(place: Path) -> None:
    text = hashbench.report("made-up", db=place, paper="hashformers", table="1")._repr_markdown_()
    assert hashbench.report("made-up", db=place, paper="hashformers", table=1)._repr_markdown_() == text
    assert "hashformers table 1" in text and "[79.1±0.3" in text


def test_wrong_input(place: Path) -> None:
    with pytest.raises(InputError, match="no experiment 'other'"):
        hashbench.report("other", db=place)
    with pytest.raises(InputError, match="no such database"):
        hashbench.report(db=place.with_name("none.db"))
