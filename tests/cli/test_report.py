"""`hashbench report` and its two companions: which command words mean, and how they were spelt before."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.cli.options import SHIPPED_FORMATS
from hashbench.results.rendering.registry import renderers
from tests.cli.commands import Run, fails
from tests.commands import Outcome
from tests.results.claims.world import Answers, build


@pytest.fixture
def report(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A function from arguments to the outcome of `hashbench report`, beside a database of three models."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HASHBENCH_DB", raising=False)
    build(Path("results.db"), [Answers("bert-mlm", 0.9), Answers("bert-sr", 0.6), Answers("majority", 0.5, None)])

    def command(*arguments: str) -> Outcome:
        with pytest.raises(SystemExit) as left:
            main(["report", *arguments])
        out, err = capsys.readouterr()
        return Outcome(int(left.value.code or 0), out, err)

    return command


TITLES = """
from hashbench.results.rendering.registry import Renderer


def titles(tables, width, color):
    return "".join(f"{table.title}\\n" for table in tables)


RENDERERS = (Renderer("titles", titles),)
"""


@pytest.fixture
def own_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of formats with one file."""
    folder = tmp_path / "formats"
    folder.mkdir()
    (folder / "titles.py").write_text(TITLES)
    monkeypatch.setenv("HASHBENCH_PLUGINS", str(folder))


@pytest.mark.parametrize("command", [(), ("claims", "--paper", "hashformers")])
def test_a_format_of_ones_own_is_one_file(report: Run, own_format: None, command: tuple[str, ...]) -> None:
    outcome = report(*command, "--format", "titles", "--output", "titles.txt")
    assert outcome.code == 0 and 0 < len(outcome.out.splitlines()) < 10
    assert Path("titles.txt").read_text() == outcome.out
    fails(report(*command, "--format", "title"), "--format: no format 'title'; did you mean 'titles'?; there are: text")


def test_the_shell_completes_formats_of_ones_own_too(own_format: None) -> None:
    asking = {"_HASHBENCH_COMPLETE": "complete_bash", "COMP_WORDS": "hashbench report --format ", "COMP_CWORD": "3"}
    program = [sys.executable, "-m", "hashbench"]
    done = subprocess.run(program, capture_output=True, text=True, env=os.environ | asking)
    assert done.stdout.split() == [*SHIPPED_FORMATS, "titles", "html"]


def test_help_lists_the_formats_that_there_are(report: Run) -> None:
    assert list(renderers()) == list(SHIPPED_FORMATS)
    for command in ((), ("claims",), ("robustness",)):
        assert f"{', '.join(SHIPPED_FORMATS)}," in " ".join(report(*command, "--help").out.replace("│", " ").split())


@pytest.mark.parametrize("name", ["latex", "CSV"])
def test_claims_have_every_format_in_any_case(report: Run, name: str) -> None:
    assert report("claims", "--paper", "hashformers", "--format", name).code == 0


def test_claims_are_a_command_of_their_own(report: Run) -> None:
    claims = report("claims", "--paper", "hashformers")
    assert claims.code == 0 and "further claims name models that the experiment does not have" in claims.out


def test_a_page_says_what_it_is_doing_and_where_it_lies(report: Run) -> None:
    made = report("--format", "html", "--output", "page.html")
    assert made.code == 0 and made.out.startswith("page.html: ") and Path("page.html").stat().st_size > 10_000
    assert made.err.startswith("results.db: reading results, deciding claims ...\nfigure 1 of ")


def test_an_experiment_without_robustness_is_one_line(report: Run) -> None:
    fails(report("robustness"), "has no finished robustness run; write robustness: true")


def test_a_command_has_only_the_options_that_it_reads(report: Run) -> None:
    fails(report("robustness", "--paper", "eelbert"), "No such option: --paper; see: hashbench report robustness")
    fails(report("claims", "--versus", "bert-sr"), "No such option: --versus; see: hashbench report claims --help")


@pytest.mark.parametrize("arguments", [["--models", ""], ["--models", " , "], ["--columns", ""]])
def test_a_list_of_names_without_any_is_no_wish_for_all(report: Run, arguments: list[str]) -> None:
    option = next(word for word in arguments if word.startswith("--"))
    fails(report(*arguments), f"{option}: is empty, as a variable that is not set; write NAME,NAME or leave the option")


@pytest.mark.parametrize("command", [(), ("--format", "html"), ("claims",)])
def test_a_file_that_cannot_be_written_is_refused_before_anything_is_made(
    report: Run, command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("print_report", "print_page", "print_tables"):
        monkeypatch.setattr(f"hashbench.cli.report.{name}", lambda *_, **__: pytest.fail("made"))
    fails(report(*command, "--output", "none/x.txt"), "--output none/x.txt: no such folder; give a file in a folder")
    Path("there").mkdir()
    fails(report(*command, "--output", "there"), "--output there: is a folder; give a file")
