"""running/runs/provenance.py: the fingerprint of a run's code follows what computes, and nothing else."""

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.experiment.identity import cpu_name
from hashbench.running.runs import provenance
from hashbench.running.runs.provenance import files_of, fingerprint, modules_of, statements_of


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    statements_of.cache_clear()
    return path


def test_comments_docstrings_and_layout_are_no_code(tmp_path: Path) -> None:
    plain = write(tmp_path / "a.py", "def f(x):\n    return x + 1\n")
    before = fingerprint([plain])
    write(plain, '"""What it is."""\n\n\n# why\ndef f(x):\n    """Says more."""\n\n    return x + 1  # one more\n')
    assert fingerprint([plain]) == before
    write(plain, "def f(x):\n    return x + 2\n")
    assert fingerprint([plain]) != before


def test_a_string_that_is_no_docstring_counts(tmp_path: Path) -> None:
    file = write(tmp_path / "a.py", 'NAME = "a"\n')
    before = fingerprint([file])
    write(file, 'NAME = "b"\n')
    assert fingerprint([file]) != before


def test_imports_file_names_and_the_file_of_a_statement_do_not_count(tmp_path: Path) -> None:
    one = write(tmp_path / "one.py", "import os\n\nX = 1\n\n\ndef f():\n    from sys import path\n\n    return path\n")
    before = fingerprint([one])
    assert fingerprint([write(tmp_path / "other.py", one.read_text().replace("import os", "import re"))]) == before
    parts = [
        write(tmp_path / "a.py", "from __future__ import annotations\n\nX = 1\n"),
        write(tmp_path / "b.py", "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    import os\n\n\n"
              "def f():\n    import sys\n\n    return path\n"),
    ]  # fmt: skip
    assert fingerprint(parts) == before


def test_the_fingerprint_is_the_hash_of_the_statements(tmp_path: Path) -> None:
    file = write(tmp_path / "a.py", "x = 1  # one\ny = None\n")
    statements = (
        "Assign(targets=[Name(id='x' ctx=Store())] value=Constant(value=1))",
        "Assign(targets=[Name(id='y' ctx=Store())] value=Constant())",
    )
    assert statements_of(file) == statements
    assert fingerprint([file]) == hashlib.sha256("\n".join(statements).encode()).hexdigest()[:8]


def test_imports_are_followed_through_what_computes_only() -> None:
    names = {"/".join(file.parts[-3:]) for file in files_of(["hashbench.running.runs.finetuning"])}
    assert {
        "running/runs/finetuning.py",
        "running/training/fit.py",
        "running/training/finetuning.py",
        "running/training/recipe.py",
    } <= names
    assert {"data/tasks/text_batches.py", "models/coders/base.py"} <= names
    assert "running/efficiency/timing.py" in {
        "/".join(file.parts[-3:]) for file in files_of(["hashbench.running.runs.efficiency"])
    }
    packages = {part for name in names for part in name.split("/")[:-1]}
    assert not packages & {"store", "sweep", "experiment", "results", "cli"}


def test_every_model_names_its_own_files() -> None:
    for name, spec in models().items():
        folders = {file.parent.name for file in files_of(modules_of(spec))}
        assert {"embeddings", "encoders"} <= folders, name
        assert spec.training.objective is None or "objectives" in folders, name


def test_two_models_of_other_coders_have_other_fingerprints() -> None:
    lsh, md = find_model("hashformer-lsh-proj"), find_model("hashformer-md-proj")
    assert fingerprint(files_of(modules_of(lsh))) != fingerprint(files_of(modules_of(md)))
    renamed = replace(lsh, name="mine")
    assert fingerprint(files_of(modules_of(renamed))) == fingerprint(files_of(modules_of(lsh)))


def test_what_is_imported_of_a_package_is_followed_as_a_module() -> None:
    assert not files_of(["hashbench.cli.status"]), "the command line computes nothing"
    assert {file.name for file in files_of(["hashbench.common.splitmix"])} == {"splitmix.py"}


def test_code_outside_of_a_checkout_has_the_version_of_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(provenance, "packages", lambda: {"hashbench": "0.1.0"})
    assert provenance.git_state(tmp_path) == ("release 0.1.0", "")
    monkeypatch.setattr(provenance, "packages", dict)
    assert provenance.git_state(tmp_path) == ("release unknown", "")


def test_the_machine_is_named_as_in_the_identity_of_timings() -> None:
    assert provenance.hardware()["processor"] == cpu_name()


def test_a_machine_with_gpus_is_named_by_its_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance.torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(provenance.torch.cuda, "get_device_name", ["one GPU", "another"].__getitem__)
    monkeypatch.setattr(provenance.torch.cuda, "device_count", lambda: 2)
    assert provenance.hardware_name() == "one GPU"
    assert (provenance.hardware()["gpu"], provenance.hardware()["gpus"]) == ("one GPU", "2")
