"""The commands of the README's section on conclusions run on the example database, and print what the README says."""

import re
import shlex
from pathlib import Path

import pytest

from hashbench.cli.app import main

ROOT = Path(__file__).resolve().parents[1]
README, EXAMPLE = ROOT / "README.md", ROOT / "results.db.example"

pytestmark = pytest.mark.skipif(not (README.is_file() and EXAMPLE.is_file()), reason="no README or example here")


def section() -> list[str]:
    """The lines of the section."""
    return README.read_text().split("## What do the results say?\n")[1].split("\n## ")[0].splitlines()


def commands() -> list[str]:
    return [line.strip() for line in section() if line.startswith("    hashbench ")]


def printed_after(command: str) -> list[str]:
    """The output that stands below a command: the indented block after the next empty line."""
    lines = section()
    start = lines.index(f"    {command}") + 2
    shown = []
    for line in lines[start:]:
        if not line.startswith("    "):
            break
        shown.append(line.strip())
    return [line for line in shown if line != "..."]


def words_of(text: str) -> str:
    """Without the width of columns and lines."""
    return re.sub(r"[\s─]+", " ", text)


def test_there_is_a_command_for_each_way_to_conclude() -> None:
    words = " ".join(commands())
    for expected in ("report claims", "compare", "report robustness", "--format html", "plot", "dashboard"):
        assert expected in words


@pytest.mark.parametrize("command", commands() if README.is_file() else [])
def test_command(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    (tmp_path / EXAMPLE.name).symlink_to(EXAMPLE)
    with pytest.raises(SystemExit) as left:
        main(shlex.split(command)[1:])
    printed = capsys.readouterr()
    assert not left.value.code, printed.err
    out = words_of(printed.out)
    for line in printed_after(command):
        assert words_of(line) in out, line
    if "-o" in command:
        target = tmp_path / shlex.split(command)[shlex.split(command).index("-o") + 1]
        assert target.is_file() or list(target.iterdir())
