"""Sweeps on corpora as items, as a user calls them: models and floor, tables, neighbours of a place, wrong input."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hashbench.common.errors import InputError
from hashbench.results.read.scores import results
from hashbench.results.rendering.registry import render
from hashbench.results.tables.report import tables
from hashbench.results.tables.request import ReportRequest
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import check_data, plan
from hashbench.scores.base import find_metric
from hashbench.scores.rankings import PAGE
from hashbench.store.engine import open_store
from hashbench.store.status import counts, experiments, predictions, runs
from tests.commands import call, finish

SHAPE = "encoder: {layers: 1, heads: 2, dim: 32, feed_forward: 64, dropout: 0, attention_dropout: 0}"
EXPERIMENT = f"""\
name: texts
data: DATA
encoder: tiny
models:
  - {{name: hashed, like: superbloom-text-hash40-h512, coder: {{alpha: 3}}, {SHAPE}}}
  - {{name: plain, like: superbloom-text-baseline-h64, {SHAPE}}}
baseline: plain
tasks: [phrases]
seeds: [0]
phrases: {{corpora: [rhymes], vocabulary: pieces.txt, items: 90, sequence_items: 18, beams: [1, 30]}}
finetune: {{steps: 300, batch_size: 16, learning_rate: 1e-2, warmup_fraction: 0.05, evaluation_steps: 100}}
threads: 1
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Documents of sentences in which each subject has a verb of its own: what is hidden follows from its neighbour."""
    folder = tmp_path_factory.mktemp("rhymes")
    (folder / "corpora" / "rhymes").mkdir(parents=True)
    random, texts = np.random.RandomState(0), []
    for _ in range(120):
        said = [f"subject{n} verb{n} object{n % 4}." for n in random.randint(0, 12, 8)]
        texts.append(" ".join(said))
    pq.write_table(pa.table({"text": texts}), folder / "corpora" / "rhymes" / "part.parquet")
    letters = sorted(set("subjectverbobject0123456789"))
    (folder / "pieces.txt").write_text("\n".join(["[UNK]", *letters, *(f"##{each}" for each in letters), "."]))
    return folder


def write(folder: Path, corpus: Path, text: str = EXPERIMENT) -> Path:
    file = folder / "texts.yaml"
    file.write_text(text.replace("DATA", str(corpus)))
    (folder / "pieces.txt").write_text((corpus / "pieces.txt").read_text())
    return file


@pytest.fixture(scope="module")
def swept(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> tuple[Path, str]:
    folder = tmp_path_factory.mktemp("swept")
    done = finish("sweep", write(folder, corpus).name, "--db", "r.db", cwd=folder)
    assert done.code == 0, done.err
    return folder, done.out


def test_every_run_is_done_and_the_table_says_what_a_case_is(swept: tuple[Path, str]) -> None:
    folder, out = swept
    store = open_store(folder / "r.db")
    assert counts(store, experiments(store)[0].id)["done"] == 3  # popularity is the one floor of a text
    for word in ("hashed", "plain", "popularity", "rec@20", "MRR", "beam width", "hidden together"):
        assert word in out
    assert "co-occurrence" not in out and "one link of a test page" not in out


def test_models_learn_what_neighbours_tell_and_beat_popularity(swept: tuple[Path, str]) -> None:
    store = open_store(swept[0] / "r.db")
    table = results(store, everything=True)
    found = table[(table.metric == "rec@1") & (table.split == "test") & (table.checkpoint == "best")]
    scores = dict(zip(found.model, found.value, strict=True))
    assert min(scores["hashed"], scores["plain"]) > 1.2 * scores["popularity"]


def test_all_models_have_the_same_cases_and_their_scores(swept: tuple[Path, str]) -> None:
    store = open_store(swept[0] / "r.db")
    found = [predictions(store, run.run_id, "test", "best") for run in runs(store, experiments(store)[0].id)]
    stored = [one for one in found if one is not None]
    assert len(stored) == 3 and len({one.index_fingerprint for one in stored}) == 1
    assert all(np.array_equal(one.outputs[:, PAGE], stored[0].outputs[:, PAGE]) for one in stored)
    assert 0 < find_metric("rec@10").score(stored[-1].targets, stored[-1].outputs) <= 1


def test_tables_4_and_5_of_the_paper_have_them(swept: tuple[Path, str]) -> None:
    store = open_store(swept[0] / "r.db")
    sizes, recall = (render(tables(store, ReportRequest(paper="superbloom", table=number))) for number in ("4", "5"))
    assert "hashed" in sizes and "superbloom-text-hash40-h512" in sizes
    row = next(line for line in recall.splitlines() if line.startswith("hashed"))
    assert any(character.isdigit() for character in row)
    assert "popularity" in recall and "31.7" in recall  # published


def test_neighbours_of_a_place(swept: tuple[Path, str]) -> None:
    folder = swept[0]
    store = open_store(folder / "r.db")
    hashed = next(run for run in runs(store, experiments(store)[0].id) if run.model == "hashed")
    ask = ("neighbours", "--db", "r.db", "--run", hashed.run_id[:10])
    found = call(*ask, "--top", 5, "--format", "csv", "[MASK]", ".", cwd=folder)
    assert found.code == 0 and len(found.out.splitlines()) == 6, found.err
    refused = call(*ask, ".", ".", cwd=folder)
    assert refused.code == 2 and "write [MASK] once, in the place of the item to find" in refused.err


def test_a_second_sweep_does_nothing(swept: tuple[Path, str]) -> None:
    folder, first = swept
    done = finish("sweep", "texts.yaml", "--db", "r.db", cwd=folder)
    assert done.code == 0 and "all 3 runs are done already" in done.err and done.out == first


def test_another_experiment_with_runs_that_are_done_notes_its_data(swept: tuple[Path, str]) -> None:
    folder = swept[0]
    shutil.copy(folder / "r.db", folder / "both.db")  # other tests read the newest experiment
    (folder / "more.yaml").write_text((folder / "texts.yaml").read_text().replace("name: texts", "name: more", 1))
    done = finish("sweep", "more.yaml", "--db", "both.db", cwd=folder)
    assert done.code == 0 and "all 3 runs are done already" in done.err
    by_name = {row.name: row.provenance for row in experiments(open_store(folder / "both.db"))}
    assert by_name["more"] == by_name["texts"] and by_name["more"]["tasks"]


WRONG = {
    "alpha larger than the vocabulary": ("alpha: 3", "alpha: 400", "larger than the vocabulary of 90 items"),
    "too long for the positions": (
        "sequence_items: 18",
        "sequence_items: 600",
        "sequence_items: 600 items and 3 special ones, but 'hashed' has 512 positions; take at most 509",
    ),
    "coherent maps": ("alpha: 3", "alpha: 3, coherent: 1", "coherent maps are made of page links; write coherent: 0"),
    "an unknown corpus": ("[rhymes]", "[rimes]", "corpus 'rimes': not in"),
    "an unknown key": ("items: 90", "itms: 90", "unknown key 'phrases.itms'"),
    "no such vocabulary": ("pieces.txt", "peaces.txt", "phrases.vocabulary: no such file 'peaces.txt'"),
    "a model of texts": ("models:\n", "models:\n  - bert-mlm\n", "reads texts and task 'phrases' is a task of hidden"),
    "too few reserved items": ("alpha: 3", "special_items: 2", "special_items 2; give an integer of at least 3"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "message"), WRONG.values(), ids=WRONG)
def test_wrong_input_is_one_line(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, message: str
) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    file = write(tmp_path, corpus, EXPERIMENT.replace(old, new, 1))
    with pytest.raises(InputError) as error:
        check_data(plan(load_experiment(file)))
    assert message in str(error.value) and "\n" not in str(error.value)
    assert str(error.value).startswith(f"{file}:")


def test_ids_know_the_vocabulary_by_its_content(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    first, second = tmp_path / "a", tmp_path / "b"
    ids = []
    for folder in (first, second):
        folder.mkdir()
        planned = plan(load_experiment(write(folder, corpus)))
        assert str(folder) not in str([run.spec for run in planned.runs])
        ids.append([run.id for run in planned.runs])
    assert ids[0] == ids[1]
    (second / "pieces.txt").write_text((corpus / "pieces.txt").read_text() + "\nsubject")
    assert not set(ids[0]) & {run.id for run in plan(load_experiment(second / "texts.yaml")).runs}
