"""Models that leave the store: written from real runs, loaded without it, equal to what was trained."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

import hashbench
from hashbench.cli.app import main
from hashbench.common.errors import InputError
from hashbench.deployment import export_run, writing
from hashbench.deployment.description import read_config
from hashbench.deployment.writing import CardFacts, _scores
from hashbench.store.engine import open_store
from hashbench.store.status import attempts, find_experiment, predictions, runs

pytestmark = pytest.mark.usefixtures("warm_workers")

EXPERIMENT = """
name: leaving
data: builtin
encoder: tiny
models: [uno-eelbert, {name: table, like: bert-tiny, encoder: {layers: 1}}]
baseline: table
tasks: [rte, stsb]
seeds: [0]
floors: [majority]
pretrain: {corpora: [builtin], steps: 2, batch_size: 4, sequence_length: 16, max_documents: 20, vocabulary_size: 400}
finetune: {epochs: 1, batch_size: 64, max_length: 32, evaluations_per_epoch: 1, per_task: {rte: {max_length: 12}}}
tuned: {finetune.epochs: {tried: [1, 2], on: validation}, pretrain.steps: {tried: [2], on: test, by: nobody}}
threads: 1
keep_weights: best
"""


@pytest.fixture(scope="module")
def swept(tmp_path_factory) -> Path:
    """A folder with a finished sweep, its database and its cache."""
    folder = tmp_path_factory.mktemp("leaving")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("HASHBENCH_CACHE", str(folder / "cache"))
        Path("leaving.yaml").write_text(EXPERIMENT)
        with pytest.raises(SystemExit) as left:
            main(["sweep", "leaving.yaml"])
        assert left.value.code == 0
    return folder


@pytest.fixture
def here(swept: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(swept)
    monkeypatch.setenv("HASHBENCH_CACHE", str(swept / "cache"))
    return swept


def run_of(kind: str, model: str, task: str | None = None) -> str:
    store = open_store("results.db", create=False, read_only=True)
    found = runs(store, find_experiment(store).id)
    return next(run.run_id for run in found if (run.kind, run.model, run.task) == (kind, model, task))


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(left.value.code or 0), out, err


def exported(capsys: pytest.CaptureFixture[str], run_id: str, folder: Path) -> str:
    code, out, err = command(capsys, "export", "--run", run_id[:10], str(folder))
    assert code == 0, err
    return out


def copied(path: Path) -> sqlite3.Connection:
    """A copy of the database to be changed, what is not yet in its main file included."""
    source, target = sqlite3.connect("results.db"), sqlite3.connect(path)
    source.backup(target)
    source.close()
    return target


def rows_of(task: str) -> tuple[list[str], list[str]]:
    from hashbench.data.sources.sources import open_sources
    from hashbench.data.tasks.catalogue import find_task, load_task

    first, second = load_task(find_task(task), open_sources("builtin")).splits["validation"].texts
    return first, second


@pytest.mark.parametrize("model", ["uno-eelbert", "table"])
@pytest.mark.parametrize("task", ["rte", "stsb"])
def test_an_exported_model_predicts_what_was_stored(here, tmp_path, capsys, monkeypatch, model, task) -> None:
    run_id = run_of("finetune", model, task)
    exported(capsys, run_id, tmp_path / "out")
    rights = {path.stat().st_mode & 0o777 for path in (tmp_path / "out").iterdir() if path.is_file()}
    assert len(rights) == 1, "who can read one file of the folder can read all"
    store = open_store("results.db", create=False, read_only=True)
    stored = predictions(store, run_id, "validation", "best")
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "empty"))  # neither store nor cache from here on
    monkeypatch.chdir(tmp_path)
    loaded = hashbench.load(tmp_path / "out")
    pairs = list(zip(*rows_of(task), strict=True))
    found = loaded.outputs(pairs)
    np.testing.assert_allclose(found, stored.outputs, atol=1e-4)
    if task == "stsb":
        assert loaded.predict(("a", "b")) == pytest.approx(float(loaded.outputs([("a", "b")])[0, 0]))
        with pytest.raises(InputError, match="a regression has no classes; call predict"):
            loaded.probabilities(pairs)
    else:
        assert loaded.predict(pairs) == [loaded.config.labels[i] for i in stored.outputs.argmax(1)]
        shares = loaded.probabilities([("a", "b"), ("b c", "d")])
        assert [list(row) for row in shares] == [list(loaded.config.labels)] * 2
        assert [sum(row.values()) for row in shares] == pytest.approx([1.0, 1.0])
        assert loaded.probabilities(("a", "b")) == pytest.approx(shares[0])
    assert not (tmp_path / "empty").exists()


def test_sizes_in_both_frames(here, tmp_path, capsys) -> None:
    """312,506 in the paper's frame, 281,986 as deployed, four bytes each."""
    out = exported(capsys, run_of("finetune", "uno-eelbert", "rte"), tmp_path / "out")
    assert "parameters: 312,506 in the paper's frame, 281,986 as deployed" in out
    card = (tmp_path / "out" / "README.md").read_text()
    assert "| 312,506 | 0 |" in card and "| 281,986 | 0 |" in card
    size = (tmp_path / "out" / "model.safetensors").stat().st_size
    assert 4 * 281_986 < size < 4 * 281_986 + 10_000  # the header of the file


def test_a_folder_with_code_says_that_it_must_be_trusted(here, tmp_path, capsys, monkeypatch) -> None:
    def copied(spec, folder: Path) -> None:
        (folder / "embedding.py").write_text("# a user's\n")

    monkeypatch.setattr("hashbench.deployment.writing.copy_own_code", copied)
    out = exported(capsys, run_of("finetune", "uno-eelbert", "rte"), tmp_path / "out")
    assert "predict with --trust-code, hashbench.load with trust_code=True" in out
    card = (tmp_path / "out" / "README.md").read_text()
    assert "hashbench.load(FOLDER, trust_code=True)\n" in card and "which this runs: read it first" in card


def test_the_card_is_filled_from_the_store(here, tmp_path, capsys) -> None:
    run_id = run_of("finetune", "uno-eelbert", "rte")
    exported(capsys, run_id, tmp_path / "out")
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.startswith("# uno-eelbert on rte\n") and run_id in card
    assert "hashbench.load(FOLDER)\n" in card  # no code of a user's
    assert "pre-trained by mlm on builtin: 2 steps of 4 x 16 tokens" in card
    assert "fine-tuned on rte: 1 epochs, batches of 64, learning rate 0.0005, seed 0" in card
    chosen = "finetune.epochs: tried 1, 2 on validation; pretrain.steps: tried 2 on test (nobody)"
    assert f"how values were chosen: {chosen}; all other values: not declared" in card
    store = open_store("results.db")
    assert attempts(store, run_of("finetune", "uno-eelbert", "rte"))[-1].notes["tuned"] == chosen
    assert "not GLUE scores" in card  # what every table made from built-in data says
    score = (
        sqlite3.connect("results.db")
        .execute("SELECT value FROM scores WHERE run_id = ? AND checkpoint = 'best' AND metric = 'accuracy'", (run_id,))
        .fetchone()[0]
    )
    assert f"| validation | accuracy | {score:.4f} |" in card


def test_a_pretrained_model_gives_vectors_and_no_labels(here, tmp_path, capsys) -> None:
    exported(capsys, run_of("pretrain", "uno-eelbert"), tmp_path / "out")
    loaded = hashbench.load(tmp_path / "out")
    vectors = loaded.embed(["a text", "another", "a text"])
    assert vectors.shape == (3, 128) and np.isfinite(vectors).all()
    np.testing.assert_allclose(vectors[0], vectors[2], atol=1e-6)
    with pytest.raises(InputError, match="a pre-trained model has no head; export the run of a fine-tuning"):
        loaded.predict(["a text"])


def test_half_precision_gives_nearly_the_same_outputs(here, tmp_path, capsys) -> None:
    run_id = run_of("finetune", "table", "rte")
    exported(capsys, run_id, tmp_path / "whole")
    code, out, err = command(capsys, "export", "--run", run_id[:10], str(tmp_path / "half"), "--half")
    assert code == 0, err
    sizes = [(tmp_path / name / "model.safetensors").stat().st_size for name in ("whole", "half")]
    assert f"{sizes[1]:,} bytes of weights" in out and sizes[1] < 0.51 * sizes[0]
    pairs = list(zip(*rows_of("rte"), strict=True))
    expected, found = (hashbench.load(tmp_path / name).outputs(pairs) for name in ("whole", "half"))
    np.testing.assert_allclose(found, expected, atol=0.01)


def test_a_weight_above_the_largest_of_half_precision_is_refused(here, tmp_path, capsys, monkeypatch) -> None:
    def too_large(path: Path) -> dict[str, torch.Tensor]:
        return {name: torch.full_like(tensor, 7e4) for name, tensor in load_file(path).items()}

    monkeypatch.setattr(writing, "load_file", too_large)
    code, _, err = command(capsys, "export", "--run", run_of("pretrain", "table")[:10], str(tmp_path / "out"), "--half")
    assert code == 2 and "has a weight above 65,504, the largest of float16; leave it out" in err
    assert not (tmp_path / "out").exists()


def test_predict_prints_a_line_a_text(here, tmp_path, capsys) -> None:
    exported(capsys, run_of("finetune", "uno-eelbert", "rte"), tmp_path / "out")
    code, out, _ = command(capsys, "predict", str(tmp_path / "out"), "a\tb", "c d\te")
    assert code == 0 and len(out.splitlines()) == 2
    code, out, _ = command(capsys, "predict", str(tmp_path / "out"), "--format", "json", "a\tb")
    found = json.loads(out)
    assert code == 0 and found["text"] == "a\tb" and sum(found["probabilities"].values()) == pytest.approx(1.0)
    assert set(found["probabilities"]) == set(read_config(tmp_path / "out").labels)
    assert found["prediction"] in found["probabilities"]


def test_a_stream_is_answered_line_by_line(here, tmp_path, capsys, monkeypatch) -> None:
    exported(capsys, run_of("finetune", "uno-eelbert", "rte"), tmp_path / "out")
    answered = []

    def lines():
        """Each line comes after the answer to the one before it."""
        for i in range(3):
            answered.append(len(capsys.readouterr().out.splitlines()))
            yield f"text {i}\tother\n".encode()

    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=lines()))
    code, out, _ = command(capsys, "predict", str(tmp_path / "out"), "--stream")
    assert (code, answered, len(out.splitlines())) == (0, [0, 1, 1], 1)
    for wrong, message in {
        b"no tab\n": "line 2 of stdin: no pair; write two texts with a tab between",
        "caf\xe9\tb\n".encode("latin-1"): "line 2 of stdin: is not UTF-8 (byte 4 is 0xe9); convert the text",
    }.items():
        monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=iter([b"a\tb\r\n", wrong, b"c\td\n"])))
        code, out, err = command(capsys, "predict", str(tmp_path / "out"), "--stream")
        assert code == 2 and len(out.splitlines()) == 1 and message in err and err.count("\n") == 1


def test_wrong_input_is_one_line_and_exit_code_2(here, tmp_path, capsys) -> None:
    folder, rte = tmp_path / "out", run_of("finetune", "uno-eelbert", "rte")
    exported(capsys, rte, folder)
    floor = run_of("floor", "majority", "rte")
    faults = {
        ("export", "--run", rte[:10], str(folder)): "is there already; name a new folder",
        ("export", "--run", floor[:10], str(tmp_path / "b")): "floor runs have no model to export; name a pre-",
        ("export", "--run", "zzzz", str(tmp_path / "b")): "no run 'zzzz'",
        ("export", str(tmp_path / "b")): "name a run with --run, or an --experiment and its --task",
        ("export", "--run", rte[:10], "--task", "rte", str(tmp_path / "b")): "--run names the run; leave --task out",
        ("export", "--experiment", "leaving", str(tmp_path / "b")): "has 2 tasks; name one with --task: rte, stsb",
        ("export", "--task", "rtee", str(tmp_path / "b")): "did you mean 'rte'?",
        ("export", "--run", rte[:10], str(tmp_path / "b"), "--pt2"): "export --pt2 is gone: the ONNX graph",
        ("predict", str(tmp_path / "no"), "x"): "no exported model; make one with hashbench export",
        ("predict", str(folder / "onnx"), "x"): f"onnx: is a part of an exported model; name {folder}",
        ("predict", str(folder), "--stream", "a\tb"): "reads lines of stdin; leave the texts out",
        ("predict", str(folder), "no tab"): "'no tab': no pair; write two texts with a tab between",
    }
    for arguments, message in faults.items():
        code, out, err = command(capsys, *arguments)
        assert (code, out) == (2, "") and message in err and err.count("\n") == 1, err
    assert not (tmp_path / "b").exists()  # the same command, put right, finds its place free


def test_the_run_is_chosen_by_task_and_model(here, tmp_path, capsys) -> None:
    """The file is that of the run itself; the chosen run is named on stderr, before all else."""
    code, _, err = command(
        capsys, "export", str(tmp_path / "out"), "--experiment", "leaving", "--task", "rte", "--model", "uno-eelbert"
    )
    run_id = run_of("finetune", "uno-eelbert", "rte")
    assert code == 0 and err.startswith(f"run {run_id[:8]}: uno-eelbert seed 0, ")
    assert read_config(tmp_path / "out").run == run_id


def test_an_unfinished_run_is_not_exported(here, tmp_path, capsys) -> None:
    run_id, connection = run_of("finetune", "uno-eelbert", "rte"), copied(tmp_path / "half.db")
    connection.execute("UPDATE run SET state = 'planned', finished_attempt = NULL WHERE id = ?", (run_id,))
    connection.commit()
    connection.close()
    arguments = ("export", "--run", run_id[:10], "--db", str(tmp_path / "half.db"), str(tmp_path / "out"))
    code, _, err = command(capsys, *arguments)
    assert code == 2 and "is not finished; go on with its sweep first" in err
    assert not (tmp_path / "out").exists()


def test_weights_that_were_not_kept(here, tmp_path, capsys) -> None:
    run_id, connection = run_of("finetune", "uno-eelbert", "rte"), copied(tmp_path / "bare.db")
    connection.execute("DELETE FROM artifact WHERE attempt_id IN (SELECT id FROM attempt WHERE run_id = ?)", (run_id,))
    connection.commit()
    connection.close()
    arguments = ("export", "--run", run_id[:10], "--db", str(tmp_path / "bare.db"), str(tmp_path / "out"))
    code, _, err = command(capsys, *arguments)
    assert code == 2 and "its weights were not kept; hashbench db void" in err


def test_broken_folders(here, tmp_path, capsys) -> None:
    folder = tmp_path / "out"
    exported(capsys, run_of("finetune", "uno-eelbert", "rte"), folder)
    values = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**values, "format": 99}))
    with pytest.raises(InputError, match="exported in format 99, this program reads 1; export it again"):
        read_config(folder)
    (folder / "config.json").write_text(json.dumps(values))
    (folder / "model.safetensors").write_bytes(b"no weights")
    with pytest.raises(InputError, match="not the weights of this model"):
        hashbench.load(folder)


def test_a_model_that_answers_all_alike_is_called_so(monkeypatch: pytest.MonkeyPatch) -> None:
    alike, varied = np.array([[0.1, 0.9], [0.2, 0.3]]), np.array([[0.9, 0.1], [0.2, 0.3]])
    stored = {"validation": SimpleNamespace(outputs=alike), "test": SimpleNamespace(outputs=varied)}
    monkeypatch.setattr(export_run, "predictions", lambda store, run_id, split, checkpoint: stored.get(split))
    scores = [{"split": split, "metric": "accuracy", "value": 0.5} for split in ("validation", "test", "unstored")]
    constant = export_run.constant_splits(None, "a", scores)  # type: ignore[arg-type]
    assert constant == ["validation"]
    facts = CardFacts({}, None, scores, constant, {}, {}, "")
    assert "**It predicts one class for everything on validation: it learned nothing.**" in _scores(facts, "ab")
    assert "it learned nothing" not in _scores(replace(facts, constant=()), "ab")
