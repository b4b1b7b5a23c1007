"""What starting a command loads: commands that look at results start, and work, without the packages that train."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hashbench.cli.app import GROUPS
from hashbench.common.extras import EXTRAS
from hashbench.models.names import known_names
from tests.commands import call
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


# Hides what the extra `train` installs, as where it was never installed.
WITHOUT_TRAIN = f"""
import sys
class Hiding:
    def __init__(self, finder):
        self.finder = finder
    def __getattr__(self, name):
        return getattr(self.finder, name)
    def find_spec(self, name, *places):
        return None if name.partition(".")[0] in {EXTRAS["train"]!r} else self.finder.find_spec(name, *places)
sys.meta_path[:] = map(Hiding, sys.meta_path)
"""
ONE_BY_ONE = """
import contextlib, io, json, traceback
from hashbench.cli.app import main
codes = {{}}
for line, arguments in {called!r}.items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as left:
            code = left.code or 0
        except Exception:
            code = traceback.print_exc() or 1
    codes[line] = (code, err.getvalue())
print(json.dumps(codes))
"""


def loaded_by(*arguments: str, before: str = "", leaves: int = 0) -> set[str]:
    """The heavy packages that a command loads in a fresh process; `leaves`: its exit code."""
    code = before + PROBE.format(arguments=list(arguments), heavy=HEAVY)
    # -P: the installed package, not the sources in the current folder
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    word, exit_code, *packages = done.stdout.splitlines()[-1].split()
    assert (word, exit_code) == ("PROBE", str(leaves)), done.stderr
    return set(packages)


def without_train(lines: list[str], names: Mapping[str, str], folder: Path) -> dict[str, tuple[int, str]]:
    """Exit code and stderr of each command, in one process that finds nothing of the extra `train`; an error is 1."""
    called = {line: [str(names.get(word, word)) for word in line.split()] for line in lines}
    code = WITHOUT_TRAIN + ONE_BY_ONE.format(called=called)
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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


WITHOUT_TRAINING = [  # FILE: the example database; SMALL, OTHER: two that are read whole in a second
    "report glue_tiny --db FILE",
    "report glue_tiny --table 2 --format html --output page.html --db FILE",
    "report claims eelbert_tiny --db FILE",
    "compare eelbert_tiny bert-tiny eelbert-tiny --db FILE",
    "list --db FILE",
    "status --db FILE",
    "plot eelbert_tiny --output figures --db FILE",
    "board SMALL --out board",
    "db publish records --organisation me --db SMALL",
    "db check --db SMALL",
    "db export copy.db --db SMALL",
    "db merge copy.db --db OTHER",
    "experiments",
    "experiments glue_tiny",
    "schema",
    "init mine",
    "data list",
    "cache clean --dry-run",
]


@pytest.fixture
def results(tmp_path: Path) -> dict[str, str]:
    """Databases with results, by their names in lines."""
    if not EXAMPLE.is_file():
        pytest.skip("no example database beside the tests")
    places = {name: tmp_path / f"{name.lower()}.db" for name in ("FILE", "SMALL", "OTHER")}
    shutil.copyfile(EXAMPLE, places["FILE"])
    export = ("db", "export", "--experiment", "canine_tiny", "--db", "example")
    assert call(*export, str(places["SMALL"]), cwd=tmp_path).code == 0
    shutil.copyfile(places["SMALL"], places["OTHER"])
    return {name: str(place) for name, place in places.items()}


def test_results_are_read_where_nothing_that_trains_is_installed(results: dict[str, str], tmp_path: Path) -> None:
    help_lines = [f"{name} --help" for members in GROUPS.values() for name in members]
    lines = [*help_lines, "--help", "--version", *WITHOUT_TRAINING]
    for line, (code, said) in without_train(lines, results, tmp_path).items():
        assert code == 0, f"{line}: {said}"


TRAINS = [
    "quickstart --db new.db",
    "sweep glue_tiny --dry-run",
    "sweep quickstart --db new.db",
    "worker quickstart --db new.db",
    "check quickstart",
    "check --embedding my_file.py:MyEmbedding",
    "models",
    "params bert-mlm",
    "costs bert-mlm",
    "encode --model bert-mlm play",
    "neighbours film --run RUN --db FILE",
    "export folder --run RUN --db FILE",
    "evaluate RUN --on sentences.csv --db FILE",
    "data describe cola",
    "data prepare quickstart",
]


def test_what_trains_says_in_one_line_what_to_install(results: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "sentences.csv").write_text("text,label\na film,1\n")
    (tmp_path / "my_file.py").write_text("from hashbench.extend import Embedding\nclass MyEmbedding(Embedding): ...\n")
    run = sqlite3.connect(results["FILE"]).execute("SELECT id FROM run WHERE task = 'sst2' AND kind = 'finetune'")
    names = {**results, "RUN": run.fetchone()[0][:12]}
    packages = "torch|lightning|datasets|tokenizers|numba|scikit-learn|safetensors"
    message = rf"hashbench: (\S+: )?({packages}) is not installed; run: pip install 'hashbench\[train\]'\n"
    for line, (code, said) in without_train(TRAINS, names, tmp_path).items():
        assert code == 2 and re.fullmatch(message, said), f"{line}: {said}"


def test_python_without_what_trains_raises_an_import_error() -> None:
    code = f"{WITHOUT_TRAIN}\nimport hashbench\nhashbench.results, hashbench.report\nhashbench.module('quickstart')"
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True, check=False)
    said = "NotInstalled: torch is not installed; run: pip install 'hashbench[train]'"
    assert done.returncode == 1 and done.stderr.splitlines()[-1].endswith(said)
