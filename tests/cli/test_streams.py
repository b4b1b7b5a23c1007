"""cli/streams.py: output where a standard stream is full, closed, or of an encoding without some characters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from hashbench.cli.streams import SUBSTITUTES, prepare
from hashbench.store.engine import open_results
from hashbench.store.status import find_experiment, runs

ROOT = Path(__file__).parents[2]
FULL = Path("/dev/full")
REPORT = ("report", "glue_tiny", "--db", "results.db.example", "--table", "own")


def _run(
    shell: str, variables: Mapping[str, str] = {}, arguments: tuple[str, ...] = REPORT
) -> tuple[int, bytes, bytes]:
    """Exit code, stdout and stderr of a command with the redirections of a shell behind it."""
    command = f'exec "$0" -m hashbench "$@" {shell}'
    program = ["sh", "-c", command, sys.executable, *arguments]
    done = subprocess.run(program, cwd=ROOT, capture_output=True, env={**os.environ, **variables})
    return done.returncode, done.stdout, done.stderr


@pytest.mark.skipif(not FULL.exists(), reason="a device of Linux")
@pytest.mark.parametrize("arguments", [REPORT, ("schema",), ("--help",), ("list", "--db", "results.db.example")])
def test_a_full_disk_under_stdout_is_one_line(arguments: tuple[str, ...]) -> None:
    for unbuffered in ("", "1"):
        code, _, err = _run("> /dev/full", {"PYTHONUNBUFFERED": unbuffered}, arguments)
        assert (code, err) == (2, b"hashbench: stdout: No space left on device; print to another place\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_result_that_would_go_to_a_closed_stdout_is_one_line(unbuffered: str) -> None:
    code, _, err = _run(">&-", {"PYTHONUNBUFFERED": unbuffered})
    assert (code, err) == (2, b"hashbench: stdout: is closed; print to another place\n")


def test_closed_streams_are_no_error(tmp_path: Path) -> None:
    assert _run("2>&-")[0] == 0
    assert _run("<&- >&- 2>&-", arguments=("report", "nothing", "--db", "results.db.example"))[0] == 2
    shown = _run(f"-o '{tmp_path / 'report.txt'}' >&-")  # the file must not get the number of stdout
    assert shown == (0, b"", b"") and (tmp_path / "report.txt").read_text() == _run("")[1].decode()


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "gbk"])
def test_every_number_is_printed_in_every_encoding(encoding: str) -> None:
    code, out, err = _run("", {"PYTHONIOENCODING": encoding})
    assert (code, err) == (0, b"")
    plain = _run("")[1].decode()
    lines, expected = out.decode(encoding).splitlines(), plain.splitlines()
    assert len(lines) == len(expected)
    for line, whole in zip(lines, expected, strict=True):
        wanted = "".join(
            character if _encodable(character, encoding) else SUBSTITUTES[character] for character in whole
        )
        assert line == wanted


def _encodable(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def test_other_characters_are_escaped_as_json_does() -> None:
    prepare()
    text = "भाषा 🙂"
    assert json.loads(f'"{text}"'.encode("ascii", "hashbench")) == text
    assert "a\udcff".encode("utf-8", "hashbench") == b"a\xff"  # a byte of a file's name


EXPERIMENT = """\
name: mine
data: builtin
encoder: tiny
models: [{name: k2, like: hash-emb-k2-sum, objective: none}]
baseline: k2
tasks: [cola]
seeds: [0]
floors: [majority]
finetune: {steps: 2, batch_size: 8, max_length: 16}
threads: 1
"""
SWEEP, WORKER = ("-m", "hashbench", "sweep", "mine.yaml"), ("-m", "hashbench", "worker", "mine.yaml")
CALL = ("-c", "import hashbench; hashbench.sweep('mine.yaml')")  # without a main guard


@pytest.mark.e2e
@pytest.mark.parametrize(
    ("arguments", "variables"),
    [(SWEEP, {"FORCE_COLOR": "1"}), (WORKER, {"PYTHONUNBUFFERED": "1"}), (CALL, {})],
)
def test_a_sweep_whose_reader_leaves_does_its_work(
    arguments: tuple[str, ...], variables: Mapping[str, str], tmp_path: Path
) -> None:
    (tmp_path / "mine.yaml").write_text(EXPERIMENT)
    environment = {**os.environ, "HASHBENCH_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(ROOT), **variables}
    program = [sys.executable, *arguments]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
    with subprocess.Popen(program, cwd=tmp_path, env=environment, **pipe) as process:  # type: ignore[call-overload]
        assert process.stdout.read(1)  # its first line is under way, and none of its runs
        process.stdout.close()
        assert process.wait(timeout=300) == 0
    store = open_results(str(tmp_path / "results.db"))
    assert [run.state for run in runs(store, find_experiment(store, "mine").id)] == ["done"] * 2


def test_what_prints_for_ever_ends_with_its_reader() -> None:
    endless = (
        "import itertools, sys\nfrom hashbench.cli import app, streams\n"
        "def forever():\n    streams.end_with_reader()\n    for n in itertools.count():\n        print(n)\n"
        "app.app.command('forever')(forever)\napp.main(['forever'])\n"
    )
    with subprocess.Popen([sys.executable, "-c", endless], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert (process.wait(timeout=60), process.stderr.read()) == (0, b"")
