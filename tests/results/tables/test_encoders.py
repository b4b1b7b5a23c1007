"""The table of embeddings by encoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.results.read.measured import measure
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.results.tables.table import Table
from tests.databases.made_up import World, build

WORDS = {"kind": "words"}
# Name: (entry of the file, kind of encoder, whether it is pre-trained, score)
MODELS: dict[str, tuple[Any, str, bool, float]] = {
    "k2": ("k2", "bert", True, 0.90),
    "k2-signs": ({"like": "k2", "coder": {"signs": 64}}, "bert", True, 0.88),
    "k2-scratch": ({"like": "k2", "objective": "none", "finetune": {"epochs": 3}}, "bert", False, 0.80),
    "signs-mean": ({"like": "k2", "coder": {"signs": 64}, "encoder": "average"}, "average", False, 0.75),
    "k2-mean": ({"like": "k2", "encoder": {"kind": "average", "dim": 16}}, "average", False, 0.70),
    "k2-words": ({"like": "k2", "tokenizer": WORDS, "encoder": "average"}, "average", False, 0.66),
    "k2-mean-again": ({"like": "k2", "encoder": "average", "pooling": "max"}, "average", False, 0.60),
}  # fmt: skip


class Encoders(World):
    """Two embeddings and a variation under two encoders, pre-trained and not."""

    def score(self, model: str, task: str) -> float:
        return MODELS[model][3] + 0.02 * (task == "sst2")

    def block(self, model: str) -> dict[str, Any]:
        _, kind, pretrained, _ = MODELS[model]
        return {**super().block(model), "encoder": {"kind": kind}, **({} if pretrained else {"objective": None})}


def table_of(folder: Path, models: tuple[str, ...] = tuple(MODELS), **world: Any) -> Table:
    written = [entry if isinstance(entry := MODELS[name][0], str) else {"name": name, **entry} for name in models]
    made = Encoders(models=models, tasks=("cola", "sst2"), config={"models": written}, **world)
    return tables(build(folder / "r.db", made), ReportRequest(table="encoders"))[0]


def test_a_row_has_one_embedding_under_each_encoder(tmp_path: Path) -> None:
    table = table_of(tmp_path)
    assert [(column.name, column.title, column.subtitle) for column in table.columns[:3]] == [
        ("encoder_bert_pretrained", "transformer", "pre-trained"),
        ("encoder_bert_scratch", "transformer", "from scratch"),
        ("encoder_average_scratch", "mean of words", "from scratch"),
    ]
    names = [column.name for column in table.columns[:3]]
    shown = {row.title: [row.cells[name].value for name in names] for row in table.rows}
    assert shown == {
        "k2": pytest.approx([91, 81, 71]),
        "k2-signs": [pytest.approx(89), None, pytest.approx(76)],
        "k2-words": [None, None, pytest.approx(67)],  # other tokens: another embedding
        "k2-mean-again": [None, None, pytest.approx(61)],  # a second one at the same place
        "majority": pytest.approx([48, 48, 48]),
        "bag-of-words": pytest.approx([71, 71, 71]),
    }
    under = {row.title: [row.cells[name].under for name in names] for row in table.rows[:4]}
    assert under["k2-words"][:2] == ["", ""] and under["k2-words"][2] and under["k2"][:2] == ["", ""]


def test_an_average_is_marked_as_in_the_table_of_tasks(tmp_path: Path) -> None:
    """A trivial baseline that lacks a task counts on those that it has."""

    class Low(Encoders):
        def score(self, model: str, task: str) -> float:
            return 0.9 if model == "k2" else 0.55

    written = ["k2", {"name": "k2-scratch", **MODELS["k2-scratch"][0]}]
    made = Low(models=("k2", "k2-scratch"), tasks=("cola", "sst2"), config={"models": written})
    made.undefined.add(("bag-of-words", "cola"))
    store = build(tmp_path / "r.db", made)
    own, by_encoder = tables(store, ReportRequest())[0], tables(store, ReportRequest(table="encoders"))[0]
    marks = {row.title: row.cells["average"].under for row in own.rows if not row.is_baseline}
    cells = by_encoder.rows[0].cells
    assert [cells[f"encoder_bert_{start}"].under for start in ("pretrained", "scratch")] == list(marks.values())
    assert marks == {"k2": "", "k2-scratch": "bag-of-words"}


def test_models_are_compared_within_a_column(tmp_path: Path) -> None:
    table = table_of(tmp_path, examples={"cola": 400, "sst2": 400})
    rated = {row.title: row.cells["encoder_average_scratch"].rating for row in table.rows[:4]}
    assert rated == {"k2": "below", "k2-signs": "best", "k2-words": "below", "k2-mean-again": "below"}
    assert table.rows[0].cells["encoder_bert_pretrained"].rating == "best"


def test_notes_name_a_column_of_a_shared_title_with_its_start(tmp_path: Path) -> None:
    class Three(Encoders):
        def block(self, model: str) -> dict[str, Any]:
            scratch = {"objective": None} if int(model[1]) % 2 else {"objective": "shuffle_random"}
            return {**super(Encoders, self).block(model), "encoder": {"kind": "bert"}, **scratch}

        def score(self, model: str, task: str) -> float:
            return 0.6 + 0.01 * int(model[1]) + 0.02 * (task == "sst2")

    written = [{"name": f"m{n}", "like": f"e{n // 2}", **({"objective": "none"} if n % 2 else {})} for n in range(6)]
    made = Three(
        models=tuple(f"m{n}" for n in range(6)), tasks=("cola", "sst2"), config={"models": written},
        examples={"cola": 400, "sst2": 400},
    )  # fmt: skip
    (table,) = tables(build(tmp_path / "r.db", made), ReportRequest(table="encoders"))
    shares = [note.partition(":")[0] for note in table.details if "shares of the tasks" in note]
    assert shares == ["transformer, pre-trained", "transformer, from scratch"]


def test_published_weights_are_no_start_from_scratch(tmp_path: Path) -> None:
    class Published(Encoders):
        def block(self, model: str) -> dict[str, Any]:
            block = {**super().block(model), "objective": None}
            return block | ({"weights": {"sha256": "00"}} if model == "k2" else {})

    written = [{"name": "k2"}, {"name": "k2-mean", "like": "k2", "encoder": "average"}]
    made = Published(models=("k2", "k2-mean"), tasks=("cola",), config={"models": written})
    (table,) = tables(build(tmp_path / "r.db", made), ReportRequest(table="encoders"))
    assert [column.subtitle for column in table.columns[:2]] == ["pre-trained", "from scratch"]


def test_a_cell_without_its_scores_says_which_is_missing(tmp_path: Path) -> None:
    table = table_of(tmp_path, failed={("k2-mean", "sst2", seed) for seed in (0, 1, 2)})
    assert table.rows[0].cells["encoder_average_scratch"].reason == "without sst2"
    assert any("out of memory" in line and "k2-mean" in line for line in table.missing)


def test_an_experiment_that_has_each_embedding_once_has_no_such_table(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="table encoders: no embedding of 'made-up' is used under two encoders, or"):
        table_of(tmp_path, ("k2", "k2-signs"))


def test_it_stands_beside_the_tables_of_experiments_that_have_an_embedding_twice(tmp_path: Path) -> None:
    for number, (models, shown) in enumerate([(("k2", "k2-scratch"), True), (("k2", "k2-words"), False)]):
        (folder := tmp_path / str(number)).mkdir()
        written = [{"name": name, **({} if isinstance(entry := MODELS[name][0], str) else entry)} for name in models]
        made = Encoders(models=models, tasks=("cola",), config={"models": written})
        assert registered("table")["encoders"].beside(measure(build(folder / "r.db", made))) is shown
