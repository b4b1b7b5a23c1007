"""One labelled set in several files and spellings, through a sweep and through `evaluate`: equal scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.results.read.measured import measure
from hashbench.store.engine import open_store
from tests.data.tasks.test_text_data import write_as

pytestmark = pytest.mark.usefixtures("warm_workers")

SUFFIXES = (".csv", ".jsonl.gz", ".parquet", ".jsonl")
WORDS = {"no": ["bad", "awful", "dull"], "yes": ["good", "great", "fine"]}
# Spelling -> the cells of no and yes in a file of each type, keys of the entry, and names of a ClassLabel in parquet
SPELLINGS = {
    "reversed": ({suffix: (1, 0) for suffix in SUFFIXES}, {"labels": [1, 0]}, None),
    "truth": ({suffix: (False, True) for suffix in SUFFIXES}, {}, None),
    "mixed": (
        {".csv": ("no", "yes"), ".jsonl": ("0", 1.0), ".jsonl.gz": (0, 1), ".parquet": (1, 0)},
        {"labels": ["no", "yes"]},
        ["yes", "no"],
    ),
}
EXPERIMENT = """\
name: spellings
data: builtin
encoder: tiny
models: [{name: proj, like: hashformer-md-proj, objective: none}]
baseline: proj
seeds: [0]
floors: [bag-of-words]
finetune: {epochs: 2, batch_size: 16, max_length: 8, evaluations_per_epoch: 1, learning_rate: 1.0e-3}
keep_weights: best
threads: 1
"""


def command(*arguments: object) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    assert not ended.value.code


def rows(n: int) -> list[tuple[str, str]]:
    """Texts of a mood with their class: every third one is yes."""
    classes = ["yes" if i % 3 == 0 else "no" for i in range(n)]
    return [(f"{WORDS[name][i % len(WORDS[name])]} film {i}", name) for i, name in enumerate(classes)]


def test_equal_scores_in_every_file_and_by_every_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    tasks = []
    for spelling, (cells, keys, feature) in SPELLINGS.items():
        for suffix in SUFFIXES:
            name = f"{spelling}-{suffix[1:]}"
            folder = tmp_path / name
            folder.mkdir()
            cell_of = dict(zip(("no", "yes"), cells[suffix], strict=True))
            for split, n in (("train", 48), ("test", 21)):
                write_as(folder / f"{split}{suffix}", [(text, cell_of[label]) for text, label in rows(n)], feature)
            tasks.append({"name": name, "path": name, "text": "text", "metric": "accuracy", **keys})
    Path("spellings.yaml").write_text(f"{EXPERIMENT}tasks: {json.dumps(tasks)}\n")
    command("sweep", "spellings.yaml")
    for spelling in SPELLINGS:
        for suffix in SUFFIXES:
            on = ("--on", f"{spelling}-{suffix[1:]}/test{suffix}", "--name", f"again-{spelling}-{suffix[1:]}")
            command("evaluate", "--experiment", "spellings", "--task", f"{spelling}-csv", *on)
    measured = measure(open_store("results.db"), "spellings")
    scores = {
        (entry.model, task): [score.value for score in measured.own(entry, task)]
        for entry in measured.entries
        for task in measured.tasks()
    }
    assert len(scores) == 2 * 2 * len(SPELLINGS) * len(SUFFIXES)
    for model in ("proj", "bag-of-words"):
        assert len({tuple(values) for (name, _), values in scores.items() if name == model}) == 1
    assert scores["bag-of-words", "again-mixed-parquet"] == [1.0]
