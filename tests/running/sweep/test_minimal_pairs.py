"""Minimal pairs of a user: scored as pre-trained, with tables; pre-trainings that did not keep their head."""

from __future__ import annotations

import csv
import io
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.measured import PARADIGMS_NOTE, Paradigms
from hashbench.results.read.evidence import Evidence, draw_seed
from hashbench.results.read.measured import measure
from hashbench.results.read.minimal_pairs import pair_results
from hashbench.scores.draws import draw_counts
from hashbench.store.engine import open_store
from hashbench.store.packing import unpack
from tests.commands import Outcome, call, finish

FILE = """
name: pairs
data: builtin
encoder: tiny
models:
  - hashformer-md-proj
  - {name: small-bert, like: bert-mlm}
baseline: hashformer-md-proj
tasks:
  - rte
  - {name: mine, path: pairs, text: [good, bad], label: kind, metric: pair_accuracy}
seeds: [0, 1]
pretrain:
  {corpora: [builtin], steps: 6, batch_size: 4, sequence_length: 32, max_documents: 60, vocabulary_size: 400, seed: 7}
finetune: {steps: 2, batch_size: 8, max_length: 16, evaluations_per_epoch: 1}
minimal_pairs: {max_pairs: 20}
threads: 1
floors: [unigrams, shorter-sentence]
efficiency: false
"""
MODELS = ["hashformer-md-proj", "small-bert"]


def query(folder: Path, sql: str) -> list[tuple]:
    with closing(sqlite3.connect(folder / "r.db")) as connection:
        return connection.execute(sql).fetchall()


def sweep(folder: Path) -> Outcome:
    return finish("sweep", "e.yaml", "--db", "r.db", cwd=folder)


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "pairs").mkdir()
    random = np.random.RandomState(0)
    words = ["bela", "dor", "fen", "gat", "lin", "mor", "nap", "sul", "ter", "voz"]
    rows = ["good,bad,kind"]
    for _ in range(25):
        chosen = list(random.permutation(words)[:6])
        rows += [
            f"{' '.join(chosen)},{' '.join(chosen[::-1])},order",
            f"{' '.join(chosen[:4])},{' '.join(chosen[1:])},end",
        ]
    (folder / "pairs" / "test.csv").write_text("\n".join(rows) + "\n")
    (folder / "e.yaml").write_text(FILE)
    done = sweep(folder)
    assert done.code == 0, done.err
    return folder


def outputs(folder: Path) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Model -> outcomes (n, 5) and paradigms (n,) of the pairs."""
    rows = query(
        folder,
        "SELECT er.model, p.outputs, p.targets FROM experiment_run er JOIN run r ON r.id = er.run_id "
        "JOIN predictions p ON p.attempt_id = r.finished_attempt WHERE r.task = 'mine'",
    )
    return {model: (unpack(of), unpack(targets)) for model, of, targets in rows}


def report(folder: Path, *options: str) -> list[dict[str, str]]:
    text = call("report", "--db", "r.db", "--format", "csv", *options, cwd=folder).out
    return list(csv.DictReader(io.StringIO(text)))


def test_one_run_a_pre_trained_model_with_the_seed_of_its_pre_training(swept: Path) -> None:
    runs = query(
        swept, "SELECT er.model, r.seed FROM experiment_run er JOIN run r ON r.id = er.run_id "
        "WHERE r.kind = 'evaluation-pairs' ORDER BY 1",
    )  # fmt: skip
    assert runs == [(model, 7) for model in MODELS]
    assert query(swept, "SELECT COUNT(*) FROM run WHERE kind = 'finetune' AND task = 'mine'") == [(0,)]
    notes = query(swept, "SELECT a.notes FROM run r JOIN attempt a ON a.id = r.finished_attempt WHERE r.task = 'mine'")
    assert all(PARADIGMS_NOTE in text for (text,) in notes) and len(notes) == 4


def test_the_table_of_the_experiment_has_it_as_a_column_and_no_average_over_it(swept: Path) -> None:
    cells = {(row["model"], row["column"]): row["value"] for row in report(swept)}
    for model in MODELS:
        assert cells[model, "average"] == cells[model, "rte"]
        of, _ = outputs(swept)[model]
        assert float(cells[model, "mine"]) == pytest.approx(100 * of[:, 0].mean() / 2)
    text = call("report", "--db", "r.db", cwd=swept).out
    assert "without fine-tuning" in text and "20 a paradigm" in " ".join(text.split())


def test_the_table_of_pairs_counts_by_paradigm_and_names_ties(swept: Path) -> None:
    cells = {(row["model"], row["column"]): row["value"] for row in report(swept, "--table", "pairs")}
    for model, (of, targets) in outputs(swept).items():
        for number, paradigm in enumerate(("end", "order")):
            part = of[targets == number, 0]
            assert float(cells[paradigm, model]) == pytest.approx(100 * part.mean() / 2)
        assert float(cells["the same words (1 paradigms)", model]) == float(cells["order", model])
    assert float(cells["order", "unigrams"]) == 50.0
    text = " ".join(call("report", "--db", "r.db", "--table", "pairs", "--examples", cwd=swept).out.split())
    assert "published values are no target" not in text  # those beside it are of language models
    assert "Pairs with equal scores, of 40:" in text and "unigrams 2" in text and ".." in text
    assert call("report", "--db", "r.db", "--table", "pairs", "--format", "latex", cwd=swept).code == 0


def _ends(drawn: np.ndarray, value: float) -> tuple[float, float]:
    """The 95 % interval of a number by its values in draws (draws,)."""
    half = 1.959963984540054 * float(drawn.std())
    return value - half, value + half


def test_an_interval_is_that_of_draws_of_the_pairs_of_each_paradigm(swept: Path) -> None:
    store = open_store(str(swept / "r.db"), create=False)
    (results,) = pair_results(measured := measure(store), Evidence(store, measured))
    by_name = {group.name: group for group in results.groups()}
    of, targets = outputs(swept)["small-bert"]
    place = [sample.entry.model for sample in results.samples].index("small-bert")
    drawn = []
    for paradigm, name in enumerate(("end", "order")):
        part = of[targets == paradigm, 0] / 2
        counts = np.concatenate(list(draw_counts(len(part), 200, draw_seed("mine") + paradigm)))
        drawn.append(counts @ part)
        estimate = results.estimates(by_name[name], 200)[place]
        assert (estimate.low, estimate.high) == pytest.approx(_ends(drawn[-1] / len(part), part.mean()), abs=1e-6)
    whole = results.estimates(by_name["all pairs"], 200)[place]
    mean = of[:, 0].mean() / 2
    assert (whole.low, whole.high) == pytest.approx(_ends(sum(drawn) / len(of), mean), abs=1e-6)
    assert whole.spread == "examples" and whole.value == pytest.approx(of[:, 0].mean() / 2)


def test_a_pre_training_without_its_head_says_what_to_do_and_what_it_says_works(swept: Path, tmp_path: Path) -> None:
    folder = tmp_path / "old"
    shutil.copytree(swept, folder)
    before = outputs(folder)["hashformer-md-proj"][0]
    (run,) = query(
        folder, "SELECT r.id, a.url FROM run r JOIN artifact a ON a.attempt_id = r.finished_attempt "
        "JOIN experiment_run er ON er.run_id = r.id "
        "WHERE a.kind = 'objective_head' AND er.model = 'hashformer-md-proj'",
    )  # fmt: skip
    head = folder / "cache" / "artifacts" / run[1]
    head.unlink()
    (scored,) = query(
        folder, "SELECT r.id FROM run r JOIN experiment_run er ON er.run_id = r.id "
        "WHERE r.kind = 'evaluation-pairs' AND er.model = 'hashformer-md-proj'",
    )  # fmt: skip
    assert call("db", "void", scored[0], "--db", "r.db", "--reason", "again", cwd=folder).code == 0
    failed = sweep(folder)
    assert failed.code != 0 and "was not kept" in failed.err and f"remove {head.parent} and sweep again" in failed.err
    shutil.rmtree(head.parent)
    done = sweep(folder)
    assert done.code == 0 and "finetune" not in done.err, done.err
    assert (outputs(folder)["hashformer-md-proj"][0] == before).all()


def test_paradigms_are_read_from_the_notes_of_a_run() -> None:
    note = Paradigms(("a",), {"field": ("f",)}, (True,)).note()
    assert Paradigms.of_notes({PARADIGMS_NOTE: note}).groups == {"field": ("f",)}


def test_what_is_not_scored_is_named_and_no_stream_is_counted(swept: Path, tmp_path: Path) -> None:
    shutil.copytree(swept / "pairs", tmp_path / "pairs")
    text = FILE.replace("models:\n", "models:\n  - {name: scratch, like: bert-mlm, objective: none}\n")
    (tmp_path / "e.yaml").write_text(text)
    done = call("check", "e.yaml", cwd=tmp_path)
    said = " ".join((done.out + done.err).split())
    assert done.code == 0 and "not scored on mine, since nothing here pre-trains them to score texts: scratch" in said
    assert "2 evaluation-pairs" in said and "2 floor" in said
    (tmp_path / "e.yaml").write_text(FILE.replace("seed: 7}", "seeds: [7, 8]}"))
    assert "4 evaluation-pairs" in call("check", "e.yaml", cwd=tmp_path).out, "one a pre-training"
    streamed = FILE.replace("  - {name: small-bert, like: bert-mlm}\n", "").replace(
        "{corpora", "{streaming: true, corpora"
    )
    (tmp_path / "e.yaml").write_text(streamed)
    assert "1 floor" in call("check", "e.yaml", cwd=tmp_path).out
