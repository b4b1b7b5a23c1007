"""Runs on perturbed texts: rate 0 is the fine-tuning's own score bit for bit, texts are the same for all workers."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from hashbench.cli.app import main
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.models.text.types import TypeTable
from hashbench.results.exchange.merge import merge
from hashbench.results.read.measured import measure
from hashbench.results.read.robustness import measure_robustness
from hashbench.running.runs.perturbed import perturb_task
from hashbench.store.engine import Store, open_store
from hashbench.store.packing import unpack

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """\
name: noisy
data: builtin
encoder: tiny
models: [hashformer-md-proj]
baseline: hashformer-md-proj
tasks: [rte]
seeds: [0]
floors: [majority, bag-of-words, bag-of-pairs]
pretrain: {corpora: [builtin], steps: 4, batch_size: 4, sequence_length: 16, max_documents: 20}
finetune: {epochs: 1, batch_size: 64, max_length: 24, evaluations_per_epoch: 1, learning_rate: 1.0e-3}
robustness: {perturbations: [swap, case, unseen], rates: [0.1, 0.3]}
threads: 1
keep_weights: pretrained
"""
OUTPUTS = """
SELECT r.kind, p.condition, p.outputs FROM predictions p JOIN run r ON r.finished_attempt = p.attempt_id
WHERE p.checkpoint = 'best' AND r.kind IN ('finetune', 'robustness', 'floor') AND r.model = :model
"""


def sweep(*arguments: object) -> int:
    """Exit code of `hashbench sweep`."""
    with pytest.raises(SystemExit) as ended:
        main(["sweep", *map(str, arguments)])
    return int(ended.value.code or 0)


def outputs(store: Store, model: str = "hashformer-md-proj") -> dict[tuple[str, str], np.ndarray]:
    """The predictions by kind of run and perturbation."""
    return {(row["kind"], row["condition"]): unpack(row["outputs"]) for row in store.query(OUTPUTS, model=model)}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory):
    """A sweep without robustness, and one with it on the same database: folder and store."""
    folder = tmp_path_factory.mktemp("noisy")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        Path("noisy.yaml").write_text(EXPERIMENT)
        assert sweep("noisy.yaml", "--db", "r.db", "robustness=false") == 0
        shutil.copy("r.db", "before.db")
        assert sweep("noisy.yaml", "--db", "r.db") == 0
        yield folder, open_store("r.db")


def test_weights_that_were_not_kept_are_made_again_by_an_attempt_of_the_fine_tuning(finished) -> None:
    folder, store = finished
    before = {row["id"]: row["finished_at"] for row in open_store(folder / "before.db").query("SELECT * FROM run")}
    after = {row["id"]: row["finished_at"] for row in store.query("SELECT * FROM run")}
    assert before.items() <= after.items() and len(after) == len(before) + 3  # of the model and two baselines
    assert not list((folder / "cache").glob("finetuned/*"))
    joined = "attempt a JOIN run r ON r.id = a.run_id WHERE r.kind = 'finetune' AND r.finished_attempt <> a.id"
    (again,) = store.query(f"SELECT a.state, a.reason FROM {joined}")
    assert again["state"] == "done" and "made again" in again["reason"]


def test_at_rate_0_outputs_and_scores_are_those_of_the_fine_tuning_bit_for_bit(finished) -> None:
    _, store = finished
    found = outputs(store)
    assert np.array_equal(found["finetune", ""], found["robustness", ""])
    assert not np.array_equal(found["robustness", "swap=0.3"], found["robustness", ""])
    ours = store.query("SELECT model, metric, value FROM robustness WHERE condition = ''")
    theirs = store.query("SELECT model, metric, value FROM scores WHERE kind <> 'pretrain' AND checkpoint = 'best'")
    theirs = [row for row in theirs if row["model"] != "majority"]
    # the fine-tuning stands in two experiments, with and without noise
    assert {tuple(row.values()) for row in ours} == {tuple(row.values()) for row in theirs}
    assert measure_robustness(store, draws=50).notes == ()


@pytest.mark.parametrize("name", ["bag-of-words", "bag-of-pairs"])
def test_trivial_baselines_that_read_texts_learn_from_clean_ones_and_read_noisy_ones(finished, name: str) -> None:
    _, store = finished
    found = outputs(store, name)
    assert np.array_equal(found["floor", ""], found["robustness", ""])
    assert np.array_equal(found["robustness", "case=0.3"], found["robustness", ""])  # it lower-cases
    assert not np.array_equal(found["robustness", "swap=0.3"], found["robustness", ""])
    results = measure_robustness(store, draws=50)
    curve = results.curve(name, "rte", "swap")
    assert curve is not None and curve.is_baseline
    assert [entry.model for entry in measure(store, "noisy").entries if not entry.is_baseline] == ["hashformer-md-proj"]


def test_a_majority_is_not_read_again(finished) -> None:
    assert ("robustness", "") not in outputs(finished[1], "majority")


def test_case_does_nothing_to_a_model_that_lower_cases(finished) -> None:
    found = outputs(finished[1])
    assert np.array_equal(found["robustness", "case=0.3"], found["robustness", ""])


def test_weights_kept_since_the_fine_tuning_give_the_same(finished, tmp_path: Path, monkeypatch) -> None:
    folder, store = finished
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
    assert sweep("noisy.yaml", "--db", tmp_path / "fresh.db") == 0  # the weights are kept until they are used
    fresh, first = outputs(open_store(tmp_path / "fresh.db")), outputs(store)
    assert fresh.keys() == first.keys()
    assert all(np.array_equal(fresh[key], first[key]) for key in first)
    assert not list((folder / "cache").glob("finetuned/*"))


def test_a_merge_brings_predictions_under_noise_along(finished, tmp_path: Path) -> None:
    folder, store = finished
    other = open_store(tmp_path / "other.db")
    merge(other, folder / "r.db")
    first, second = outputs(store), outputs(other)
    assert first.keys() == second.keys() and all(np.array_equal(first[key], second[key]) for key in first)


def test_texts_are_a_function_of_the_data_and_the_seed() -> None:
    data = load_task(find_task("mrpc"), open_sources("builtin"))
    words = {word for text in data.splits["train"].texts[0] for word in text.split()}
    corpus = TypeTable.from_counts(dict.fromkeys(words, 1))
    asked = {"perturbations": ["swap", "unseen"], "rates": [0.0, 0.2], "seed": 0}
    first, again = perturb_task(data, asked, corpus), perturb_task(data, asked, corpus)
    assert first.data.splits["validation~swap=0.2"].texts == again.data.splits["validation~swap=0.2"].texts
    assert first.data.fingerprint == again.data.fingerprint
    other = perturb_task(data, {**asked, "seed": 1}, corpus)
    assert other.data.fingerprint != first.data.fingerprint
    assert other.data.splits["validation~swap=0.2"].texts != first.data.splits["validation~swap=0.2"].texts
    assert first.data.splits["validation"] is data.splits["validation"]
    for unseen in ("unseen_tokens", "unseen_types"):
        assert 0 <= first.facts[unseen, ""] < first.facts[unseen, "unseen=0.2"] < 1
    assert first.facts["words_changed", "swap=0.2"] == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("robustness.rates=[0,1.5]", "must be at most 1"),
        ("robustness.rates=[-0.1]", "must be at least 0"),
        ("robustness.rates=[0]", "rates: only 0; give a share of words to change"),
        ("robustness.perturbations=[swop]", "must be 'swap', 'delete'"),
        ("robustness.perturbations=[swap,swap]", "perturbations: swap stands twice"),
        ("tasks=[entities]", "reads texts and task 'entities'"),
    ],
)
def test_wrong_input_is_one_line(
    override: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    Path("noisy.yaml").write_text(EXPERIMENT)
    assert sweep("noisy.yaml", "--dry-run", "--db", "r.db", override) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error


def test_robustness_of_hidden_items_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "name: x\ndata: builtin\nencoder: tiny\nmodels: [superbloom-text-hash20-h1024]\ntasks: [phrases]\n"
    text += "robustness: true\n"
    Path("items.yaml").write_text(text)
    assert sweep("items.yaml", "--dry-run") == 2
    assert "robustness changes texts, and task 'phrases' has items" in capsys.readouterr().err
