"""The table of scores by script."""

from __future__ import annotations

import statistics
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from tests.databases.made_up import World, build

SCORES = {"english": 0.8, "hindi": 0.6, "finnish": 0.5, "sst2": 0.9}
TRAITS = {
    "english": {"language": "English", "script": "Latin"},
    "hindi": {"language": "Hindi", "script": "Devanagari"},
    "finnish": {"language": "Finnish", "script": "Latin"},
}


class Languages(World):
    """Three languages in two scripts, and a task that is of none."""

    def score(self, model: str, task: str) -> float:
        return SCORES[task] - 0.1 * (model != "bert-mlm")


@pytest.fixture
def table(tmp_path: Path) -> Table:
    """That of a made-up experiment."""
    world = Languages(models=("bert-mlm", "hashformer-lsh-proj"), tasks=tuple(SCORES), traits=TRAITS)
    return tables(build(tmp_path / "r.db", world), ReportRequest(table="scripts"))[0]


def test_a_column_is_the_mean_of_the_languages_of_a_script(table: Table) -> None:
    scripts = [(column.name, column.title, column.subtitle) for column in table.columns[:3]]
    assert scripts == [
        ("script_Latin", "Latin", "2 languages"),
        ("script_Devanagari", "Devanagari", "Hindi"),
        ("average", "Average", "3 languages"),
    ]
    mean = {
        "script_Latin": [0.8, 0.5],
        "script_Devanagari": [0.6],
        "average": [0.8, 0.6, 0.5],
    }
    for row, less in ((table.rows[0], 0), (table.rows[1], 10)):
        assert {name: row.cells[name].value for name in mean} == {
            name: pytest.approx(100 * statistics.fmean(values) - less) for name, values in mean.items()
        }


def test_models_are_comparable_by_script_and_one_under_a_trivial_baseline_is_marked(table: Table) -> None:
    by_model = {row.model: row.cells for row in table.rows}
    assert any(note.startswith("No group of the best, no stored predictions: Latin") for note in table.notes)
    assert by_model["hashformer-lsh-proj"]["average"].under == "bag-of-words"  # 53.3, where it has 71
    assert by_model["bag-of-words"]["script_Devanagari"].value == pytest.approx(71)


def test_an_experiment_without_languages_is_one_line(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", World(tasks=("cola",)))
    with pytest.raises(InputError, match="table scripts: 'made-up' has no task of a language, such as sib200:hin_Deva"):
        tables(store, ReportRequest(table="scripts"))
