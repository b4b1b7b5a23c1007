"""What starting a command loads: commands that look at results start without the packages that train."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.models.names import known_names
from tests.exported import exported_folder, exported_graph

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "results.db.example"
TRAINING = {"torch", "lightning", "numba", "sklearn", "torchmetrics"}
HEAVY = TRAINING | {
    "datasets", "matplotlib", "numpy", "pandas", "pyarrow", "pydantic", "scipy", "sqlalchemy", "transformers", "wandb",
}  # fmt: skip
PROBE = """
import sys
from hashbench.cli.app import main
try:
    main({arguments!r})
except SystemExit as left:
    print("PROBE", left.code or 0, *sorted({heavy!r} & set(sys.modules)))
"""


def loaded_by(*arguments: str, before: str = "", leaves: int = 0) -> set[str]:
    """The heavy packages that a command loads in a fresh process; `leaves`: its exit code."""
    code = before + PROBE.format(arguments=list(arguments), heavy=HEAVY)
    # -P: the installed package, not the sources in the current folder
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    word, exit_code, *packages = done.stdout.splitlines()[-1].split()
    assert (word, exit_code) == ("PROBE", str(leaves)), done.stderr
    return set(packages)


def test_help_loads_the_parser_alone() -> None:
    assert loaded_by("--help") == set()


def test_the_proof_of_lightness_can_fail() -> None:
    assert loaded_by("--help", before="import numpy, pydantic\n") == {"numpy", "pydantic"}


COMMANDS = [
    "status",
    "status --format json",
    "report glue_tiny",
    "report glue_tiny --table 2",
    "compare glue_tiny bert-mlm bert-sr",
]


@pytest.mark.skipif(not EXAMPLE.is_file(), reason="no example database beside the tests")
@pytest.mark.parametrize("line", COMMANDS)
def test_results_are_shown_without_what_trains(line: str, tmp_path: Path) -> None:
    db = tmp_path / "results.db"
    shutil.copyfile(EXAMPLE, db)
    assert not loaded_by(*line.split(), "--db", str(db)) & (TRAINING | {"matplotlib"})


@pytest.mark.parametrize("model", ["hashformer-md-proj", "bert-tiny"])
def test_a_prediction_loads_what_infers_alone(model: str, tmp_path: Path) -> None:
    folder = exported_folder(model, tmp_path / "out")
    read_arguments = {"pydantic"}  # by typer itself
    assert loaded_by("predict", str(folder), "a film") == {"numpy", "torch"} | read_arguments


def test_a_graph_answers_without_torch(tmp_path: Path) -> None:
    for package in ("onnx", "onnxruntime", "onnxscript"):
        pytest.importorskip(package, reason=f"{package} is not installed")
    folder = exported_graph("hashformer-md-proj", tmp_path / "out", is_pair=False)
    assert loaded_by("predict", str(folder), "a film") == {"numpy", "pydantic"}


# What a command has looked at before it imports torch: its arguments, its files, and the names in them.
REFUSED = [
    "check nothing.yaml",
    "check experiments/quickstart.yaml modles=[bert-mlm]",
    "check experiments/quickstart.yaml models=[bert-mln]",
    "check experiments/quickstart.yaml baseline=bert-mln",
    "check experiments/quickstart.yaml tasks=[colaa]",
    "sweep nothing.yaml",
    "worker nothing.yaml",
    "data prepare nothing.yaml",
    "params bert-mln",
    "encode --model hashformer-md-prj play work",
    "encode play work",
    "export --run 3fa2 folder --db nothing.db",
    "export folder --task sst2 --db nothing.db",
    "evaluate 3fa2 --on nothing.csv --db nothing.db",
    "neighbours item --run 3fa2 --db nothing.db",
]


@pytest.mark.parametrize("line", REFUSED)
def test_wrong_input_is_refused_without_what_trains(line: str) -> None:
    known_names()  # which are listed once an installation
    assert not loaded_by(*line.split(), leaves=2) & TRAINING


@pytest.mark.parametrize("line", ["check", "sweep --dry-run --db {folder}/results.db"])
def test_a_plan_is_made_without_what_trains(line: str, tmp_path: Path) -> None:
    """Nor with numba, though EELBERT and ProFormer hash the names of special tokens when they are built."""
    command, *options = line.format(folder=tmp_path).split()
    models = "models=[bert-tiny, hashformer-md-proj, eelbert-tiny, proformer-glue]"
    loaded = loaded_by(command, "experiments/quickstart.yaml", models, "baseline=bert-tiny", *options)
    assert not loaded & {"lightning", "torchmetrics", "sklearn", "transformers", "numba", "matplotlib"}


def test_codes_are_printed_without_lightning() -> None:
    loaded = loaded_by("encode", "--model", "hashformer-md-proj", "play", "work")
    assert not loaded & {"lightning", "torchmetrics", "sklearn", "transformers", "matplotlib"}
