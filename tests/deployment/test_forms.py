"""Folders for devices as a user makes them: what lies in them, what is said, what is refused."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from hashbench.common.errors import InputError
from hashbench.common.measured import MetricRow
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.deployment.forms import FACTS, Form, Wishes, deploy, stored_forms
from hashbench.deployment.loading import load
from hashbench.results.tables.report import tables
from hashbench.store.engine import open_store
from hashbench.store.result import add_metrics
from tests.exported import exported_folder
from tests.results.claims.world import Answers, build


def silent(message: str) -> None:
    """For remarks that nobody reads."""


def test_a_device_folder_is_small_and_says_so(tmp_path: Path) -> None:
    """hashformer-md-proj at tiny: graph in int8, text side and no vocabulary in less than a megabyte."""
    for package in ("onnx", "onnxscript", "onnxruntime"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = exported_folder("hashformer-md-proj", tmp_path / "out")
    task = load_task(find_task("sst2"), open_sources("builtin"))
    lines = deploy(folder, Wishes(onnx=True, int8=True, evaluate=True), task, silent)
    shipped = {path.name: path.stat().st_size for path in (folder / "onnx").iterdir()}
    assert set(shipped) == {"model_int8.onnx", "hashed_text.py", "hashed_text.js", "hashed_text.json"}
    assert sum(shipped.values()) < 1_000_000
    assert lines[0].startswith(f"ship {folder / 'onnx'}: {sum(shipped.values()):,} bytes in all: model_int8.onnx ")
    assert all(f"{name} {size:,}" in lines[0] for name, size in shipped.items())
    assert lines[1].startswith("label names: hashed_text.json; ")
    assert json.loads((folder / "onnx" / "hashed_text.json").read_text())["inputs"]["labels"] == list(
        load(folder).labels
    )
    facts = json.loads((folder / "deployment.json").read_text())
    assert facts["shipped_bytes"] == sum(shipped.values()) and facts["difference"] < 1e-4
    forms = {form["form"]: form for form in facts["evaluated"]}
    assert list(forms) == ["float32", "int8"] and forms["int8"]["bytes"] < forms["float32"]["bytes"] / 3
    assert all(0 <= form["score"] <= 1 and form["milliseconds"] > 0 for form in forms.values())
    card = (folder / "README.md").read_text()
    assert "depends a little on the other texts of its batch" in card
    assert "## On a device" in card and f"| int8 | {forms['int8']['bytes']:,} |" in card
    assert len((folder / "vectors.jsonl").read_text().splitlines()) == 1_000


@pytest.mark.parametrize("name", ["int8", "evaluate"])
def test_what_needs_a_graph_asks_for_it(name: str) -> None:
    with pytest.raises(InputError, match=f"export --{name}: needs --onnx; add it"):
        Wishes(**{name: True}).checked()


def test_a_missing_package_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(InputError, match=r"^onnx is not installed; run: pip install 'hashbench\[export\]'$"):
        Wishes(onnx=True).checked()


def test_what_was_measured_of_the_forms_is_a_column_of_the_report(tmp_path: Path) -> None:
    store = build(tmp_path / "r.db", [Answers("bert-mlm", 0.8)])
    run_id = store.query("SELECT id FROM run WHERE kind = 'finetune'")[0]["id"]
    add_metrics(store, run_id, [MetricRow("best_step", 1.0)])  # as every fine-tuning stores it
    forms = [
        Form("float32", 4_000_000, "accuracy", "validation", 0.8, 0.25),
        Form("int8", 1_000_000, "accuracy", "validation", 0.75, 0.2),
    ]
    (tmp_path / FACTS).write_text(json.dumps({"evaluated": [vars(form) for form in forms]}))
    said = stored_forms(str(tmp_path / "r.db"), run_id[:8], tmp_path)
    assert said == f"{tmp_path / 'r.db'}: bytes, scores and times of the forms are columns of hashbench report"
    table = tables(open_store(tmp_path / "r.db"))[0]
    task = store.query("SELECT task FROM run WHERE kind = 'finetune'")[0]["task"]
    assert any(f"fine-tuned on {task}; scores are" in note for note in table.notes)
    cells = table.rows[0].cells
    assert {name: cell.value for name, cell in cells.items() if name.startswith(("float32", "int8"))} == {
        "float32_bytes": 4.0, "float32_score": 80.0, "float32_latency": 0.25,
        "int8_bytes": 1.0, "int8_score": 75.0, "int8_latency": 0.2,
    }  # fmt: skip
    assert "stand in" in stored_forms(str(tmp_path / "other.db"), run_id[:8], tmp_path)


def test_own_code_is_not_asked_about_and_nothing_half_made_stays(tmp_path: Path, monkeypatch) -> None:
    asked = []

    def load(folder: Path, *, trust_code: bool = False) -> None:
        asked.append(trust_code)
        raise InputError("cannot be made")

    monkeypatch.setattr("hashbench.deployment.forms.load", load)
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").touch()
    with pytest.raises(InputError, match="cannot be made"):
        deploy(folder, Wishes(), None, silent)
    assert asked == [True] and not folder.exists()
