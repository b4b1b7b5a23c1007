"""The command line: what goes to stdout, one line for each error, exit codes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import hashbench
from hashbench.cli.app import GROUPS, app, main
from tests.cli.commands import Run, fails
from tests.commands import Outcome

ROOT = Path(__file__).parents[2]


def commands() -> dict[str, typer.core.TyperCommand]:
    """Every command by its full name."""
    group = typer.main.get_command(app)
    found = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        inner = getattr(command, "commands", None)
        found |= {f"{name} {each}": sub for each, sub in inner.items()} if inner else {name: command}
    return found


def test_the_commands_are_those_of_the_design() -> None:
    assert sorted(commands()) == [
        "board", "cache clean", "check", "compare", "costs", "dashboard", "data check",
        "data describe", "data import-predictions", "data links", "data list", "data prepare", "db check",
        "db delete", "db export", "db merge", "db publish", "db upgrade",
        "db void", "encode", "evaluate", "experiments", "export", "init", "list", "log",
        "models", "neighbours", "params", "plot", "predict", "quickstart", "report", "report claims",
        "report robustness", "schema", "status", "sweep", "worker",
    ]  # fmt: skip


@pytest.mark.parametrize("name", commands())
def test_every_command_has_help_with_an_example(name: str) -> None:
    assert f"hashbench {name}" in (commands()[name].help or "")


@pytest.mark.parametrize("name", commands())
def test_every_option_is_explained(name: str) -> None:
    for parameter in commands()[name].params:
        assert getattr(parameter, "help", None), f"{name} {parameter.name}"


@pytest.mark.parametrize("name", commands())
def test_no_bracket_of_a_help_text_is_taken_for_markup(name: str, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    done = run(*name.split(), "--help")
    printed = "".join(done.out.replace("│", " ").split())
    texts = [commands()[name].help or "", *(str(getattr(each, "help", "")) for each in commands()[name].params)]
    for text in texts:
        for piece in re.findall(r"\[[^\]]*\]", text):
            assert "".join(piece.split()) in printed, f"{name}: write \\\\{piece}"


def test_version(run: Run) -> None:
    assert run("--version") == Outcome(0, f"hashbench {hashbench.__version__}\n", "")


def test_a_wrong_command_line_is_one_line(run: Run) -> None:
    fails(run("swee"), "No such command 'swee'. Did you mean 'sweep'?; see: hashbench --help")
    fails(run("sweep", "--foo"), "No such option: --foo")
    fails(run("report", "--format", "docx"), "--format: no format 'docx'; there are: text, md, csv, json, latex, html")
    fails(run("sweep"), "Missing argument 'FILE'; see: hashbench sweep --help")


WRONG_FILES = {
    "sweep none.yaml": "none.yaml: no such file",
    "sweep none.yaml --workers 0": "Invalid value for '--workers': Input should be greater than or equal to 1",
    "sweep .": ".: is a folder",
    "sweep small.yaml pretrain.stps=3": "unknown key 'pretrain.stps'; did you mean 'steps'?",
    "sweep small.yaml pretrain.steps=-5": "pretrain.steps: must be greater than 0, not -5",
    "sweep small.yaml models=[bert-mln]": "unknown model 'bert-mln'; did you mean 'bert-mlm'",
    "sweep small.yaml tasks=[colaa]": "unknown task 'colaa'; did you mean 'cola'?",
    "sweep small.yaml finetune.select_metric=f2": "metric 'f2' does not fit task 'cola'; its metrics: ",
    "sweep small.yaml tasks=[wnli]": "task 'wnli': not in builtin",
    "sweep small.yaml pretrain.corpora=[wikipedia]": "corpus 'wikipedia': not in builtin",
    "sweep small.yaml --data nowhere": "--data: data: no folder ",
    "sweep small.yaml --db nowhere/r.db": "nowhere",
    "sweep small.yaml --db small.yaml": "small.yaml: ",
    "check small.yaml encoder=bas": "encoder: must be 'tiny', 'mini', 'small', 'medium' or 'base', not 'bas'",
    "check": "check: give an experiment file, --embedding FILE.py:Class or --coder FILE.py:Class",
    "check --embedding none.py:Mine": "none.py: no such file",
    "status": "results.db: no such database",
    "report": "results.db: no such database",
    "params bert-mln": "unknown model 'bert-mln'; did you mean 'bert-mlm'",
    "costs proformr": "unknown model 'proformr'; did you mean 'proformer'",
    "costs sgnn": "costs of 'sgnn' are not known",
    "costs proformer-k4 --words 30": "costs --words is gone: ",
    "encode play": "Missing option '--model'",
    "train small.yaml": "No such command 'train'",
    "status --run 3fa2": "status --run is gone: hashbench log RUN prints one run",
    "experiments show glue_tiny": "experiments show is gone: hashbench experiments NAME prints one",
    "encode --model hashformer-md-prj play": "unknown model 'hashformer-md-prj'; did you mean 'hashformer-md-proj'",
    "data list --data nowhere": "no folder",
    "status --watch --format json": "status: --watch prints text; leave out --watch or --format json",
    "check small.yaml finetune.learning_rate=[1e-3,0.001]": "finetune.learning_rate: rate 0.001 stands twice",
    "db export out.db --db small.yaml": "small.yaml",
    "db upgrade --db nowhere/r.db": "nowhere",
}


@pytest.mark.parametrize(("line", "message"), WRONG_FILES.items())
def test_wrong_input_is_one_line_and_exit_code_2(run: Run, line: str, message: str) -> None:
    fails(run(*line.split()), message)


@pytest.mark.parametrize("line", ["models", "data describe sst2 --data builtin", "sweep none.yaml"])
@pytest.mark.parametrize("text", ["abc", "0", "-1", "1.5", " "])
def test_a_number_of_threads_that_is_none_is_one_line(
    text: str, line: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", text)
    message = f"HASHBENCH_THREADS: {text!r} is no whole number from 1 to 65536; correct it, or unset it"
    fails(run(*line.split()), message)


def test_interrupted(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    import hashbench.running.experiment.schema

    monkeypatch.setattr(hashbench.running.experiment.schema.Experiment, "model_json_schema", interrupt)
    assert run("schema") == Outcome(130, "", "interrupted\n")


def test_a_reader_that_leaves_is_no_error() -> None:
    program = [sys.executable, "-m", "hashbench", "schema"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=ROOT)
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert (process.stderr.read(), process.wait()) == (b"", 0)


def test_help_begins_with_the_commands_to_begin_with(run: Run) -> None:
    lines = [line.strip("│ ") for line in run("--help").out.split("Begin", 1)[1].splitlines()]
    first = [line.split()[0] for line in lines if line and re.match(r"[a-z-]+   ", line)]
    assert first[:5] == ["quickstart", "init", "check", "sweep", "report"]
    assert sum(len(members) for members in GROUPS.values()) == len(app.registered_commands) + len(app.registered_groups)


def test_empty_names_of_folders_are_unset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with pytest.raises(SystemExit):
        main(["--version"])
    assert "XDG_CACHE_HOME" not in os.environ and os.environ["XDG_DATA_HOME"] == str(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="no /proc here, where nobody can make a folder")
@pytest.mark.parametrize("home", ["/proc/nohome", None])
def test_without_a_home_folder_matplotlib_keeps_its_fonts_in_the_cache(
    home: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MPLCONFIGDIR", "")  # so that it is restored
    monkeypatch.delenv("MPLCONFIGDIR")
    monkeypatch.setenv("HASHBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("HOME", home or str(tmp_path))
    with pytest.raises(SystemExit):
        main(["--version"])
    assert os.environ.get("MPLCONFIGDIR") == (str(tmp_path / "cache" / "matplotlib") if home else None)
    assert not (tmp_path / "cache").exists()
