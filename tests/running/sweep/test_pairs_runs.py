"""Robustness on a user's pairs, from the command line: scores on the same rows in two forms, against plain counts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hashbench.cli.app import main
from hashbench.results.read.robustness import measure_robustness
from hashbench.running.experiment.load import load_experiment
from hashbench.running.sweep.plan import plan
from hashbench.store.engine import Store, open_store
from hashbench.store.packing import unpack
from tests.running.runs.test_perturbed import COLUMNS, TEN, written

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """\
name: forms
data: builtin
encoder: tiny
models: [{name: k2, like: hash-emb-k2-sum, objective: none}]
baseline: k2
tasks: [{name: mine, path: mine, text: text}]
seeds: [0, 1]
floors: [majority, bag-of-words]
finetune: {epochs: 2, batch_size: 8, max_length: 16, evaluations_per_epoch: 1, learning_rate: 3.0e-3}
robustness: {perturbations: [], pairs: {mine: pairs.csv}}
threads: 1
"""
OUTPUTS = """
SELECT r.model, r.seed, p.condition, p.outputs, p.targets FROM predictions p
JOIN run r ON r.finished_attempt = p.attempt_id WHERE r.kind = 'robustness'
"""


def command(*arguments: object) -> int:
    """Exit code of a command."""
    with pytest.raises(SystemExit) as ended:
        main([*map(str, arguments)])
    return int(ended.value.code or 0)


def write_files(folder: Path) -> None:
    (folder / "mine").mkdir()
    words = {"pos": ["good", "fine"], "neg": ["bad", "poor"]}
    rows = [(f"{words[label][i % 2]} film {i}", label) for i in range(24) for label in ("pos", "neg")]  # a word decides
    written(folder / "mine" / "train.csv", rows, COLUMNS[:2])
    written(folder / "mine" / "test.csv", [(f"a {text}", label) for text, label in rows[:10]], COLUMNS[:2])
    written(folder / "pairs.csv")
    (folder / "forms.yaml").write_text(EXPERIMENT)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory):
    """A sweep with pairs alone: its folder and store."""
    folder = tmp_path_factory.mktemp("forms")
    write_files(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        assert command("sweep", "forms.yaml", "--db", "r.db") == 0
        yield folder, open_store("r.db")


def accuracies(store: Store) -> dict[tuple[str, int | None, str], float]:
    """The accuracy by model, seed and condition, counted from stored predictions."""
    return {
        (row["model"], row["seed"], row["condition"]): float(np.mean(classes(row) == unpack(row["targets"])))
        for row in store.query(OUTPUTS)
    }


def classes(row) -> np.ndarray:
    outputs = unpack(row["outputs"])
    return outputs.argmax(1) if outputs.ndim == 2 else outputs


def test_scores_are_those_of_the_same_rows_in_two_forms(finished) -> None:
    _, store = finished
    by_hand = accuracies(store)
    labels = {f"{kind}={rate}" for kind in ("ocr", "romanised") for rate in (0, 1)}
    assert {condition for _, _, condition in by_hand} == {"", *labels}
    for row in store.query(OUTPUTS):
        if row["condition"]:
            kind = row["condition"].partition("=")[0]
            assert sorted(unpack(row["targets"])) == sorted(int(r[1] == "pos") for r in TEN if r[3] == kind)
    for kind in ("ocr", "romanised"):
        curve = measure_robustness(store, draws=50).curve("k2", "mine", kind)
        assert curve is not None and curve.is_of_pairs and curve.rates == (0.0, 1.0)
        scores = [[by_hand["k2", seed, f"{kind}={rate}"] for rate in (0, 1)] for seed in (0, 1)]
        assert curve.score(0).value == pytest.approx(np.mean([clean for clean, _ in scores]))
        assert curve.score(1).value == curve.score().value == pytest.approx(np.mean([form for _, form in scores]))
        assert curve.retention().value == pytest.approx(np.mean([form / clean for clean, form in scores]))
        assert curve.n_examples == sum(row[3] == kind for row in TEN)
    floor = measure_robustness(store, draws=50).curve("bag-of-words", "mine", "ocr")
    assert floor is not None and floor.is_baseline
    assert floor.score(1).value == by_hand["bag-of-words", None, "ocr=1"]


def test_the_report_names_kinds_rows_and_what_is_few(finished, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = finished
    assert command("report", "robustness", "forms", "--db", folder / "r.db") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "mine, accuracy: ocr (6 rows)" in text and "mine, accuracy: romanised (4 rows)" in text
    assert "mine: ocr: 6 rows, fewer than 100" in text and "mine: ocr: 1 of 6 texts equal their other form." in text
    assert "over the rates" not in text and "trapezoids" not in text
    assert command("report", "robustness", "forms", "--db", folder / "r.db", "--format", "json") == 0
    rows = json.loads(capsys.readouterr().out)
    measures = {(row["perturbation"], row["rate"], row["measure"]) for row in rows if row["model"] == "k2"}
    assert {("ocr", 0.0, "score"), ("ocr", 1.0, "score"), ("ocr", 1.0, "kept")} <= measures
    assert ("ocr", 1.0, "pair_rows") in measures and not any("area" in measure for _, _, measure in measures)


def test_the_figure_has_a_panel_of_each_kind(finished, tmp_path: Path) -> None:
    folder, _ = finished
    figures = tmp_path / "figures"
    assert command("plot", "robustness", "forms", "--db", folder / "r.db", "-o", figures, "--format", "svg") == 0
    text = (figures / "robustness.svg").read_text()
    assert "mine: ocr" in text and "mine: romanised" in text and "words changed" not in text


def test_an_exported_database_does_not_name_the_file(finished, tmp_path: Path, capsys) -> None:
    folder, _ = finished
    assert command("db", "export", tmp_path / "out.db", "--db", folder / "r.db") == 0
    (row,) = open_store(tmp_path / "out.db").query("SELECT config FROM experiment")
    assert json.loads(row["config"])["robustness"]["pairs"] == {"mine": "(left out)"}
    assert measure_robustness(open_store(tmp_path / "out.db"), draws=50).of_pairs()


def test_the_file_is_in_the_ids_of_robustness_runs_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    write_files(tmp_path)

    def ids(*overrides: str) -> dict[str, set[str]]:
        by_kind: dict[str, set[str]] = {}
        for run in plan(load_experiment("forms.yaml", overrides)).runs:
            by_kind.setdefault(run.kind, set()).add(run.id)
        return by_kind

    noise = "robustness.perturbations=[swap]"
    alone, both, without = ids(), ids(noise), ids("robustness={perturbations: [swap]}")
    written(tmp_path / "pairs.csv", TEN[:9])
    changed = ids()
    for plan_ids in (both, without, changed):
        assert plan_ids["finetune"] == alone["finetune"] and plan_ids["floor"] == alone["floor"]
        assert not plan_ids["robustness"] & alone["robustness"]
    assert not both["robustness"] & without["robustness"]
    assert ids("robustness.rates=[0.5]") == ids("robustness.seed=4") == changed  # these do not apply to pairs


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("robustness.pairs={mine: none.csv}", "none.csv: no such file or folder; check the path"),
        ("robustness.pairs={mien: pairs.csv}", "no task 'mien' in this experiment; did you mean 'mine'?"),
        ("robustness={perturbations: []}", "perturbations: is empty; name one, as swap, or give pairs"),
        ("robustness.pairs={mine: forms.yaml}", "a table is a"),
    ],
)
def test_wrong_input_is_one_line(
    override: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    write_files(tmp_path)
    assert command("sweep", "forms.yaml", "--dry-run", "--db", "r.db", override) == 2
    error = capsys.readouterr().err.strip()
    assert message in error and "\n" not in error


@pytest.mark.parametrize(
    ("rows", "columns", "message"),
    [
        (TEN, ("text", "label", "noisy", "kind"), "no column 'perturbed'"),
        ([*TEN, ("x", "neutral", "y", "ocr")], COLUMNS, "labels that training never saw: 'neutral'"),
        ([*TEN, ("x", "pos", "", "ocr")], COLUMNS, "row 11: column 'perturbed' is empty"),
    ],
)
def test_a_wrong_table_ends_a_sweep_before_its_first_run(
    rows, columns, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    write_files(tmp_path)
    written(tmp_path / "pairs.csv", rows, columns)
    assert command("sweep", "forms.yaml", "--db", "r.db") == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert message in error and "pairs.csv" in error
    assert not open_store("r.db").query("SELECT id FROM run")
