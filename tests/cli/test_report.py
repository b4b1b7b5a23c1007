"""`hashbench report` and its two companions: which command words mean, and how they were spelt before."""

from __future__ import annotations

from pathlib import Path

import pytest

from hashbench.cli.app import main
from hashbench.cli.spelling import in_this_release
from tests.claims.world import Answers, build
from tests.cli.commands import Run, fails
from tests.commands import Outcome


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


def test_claims_are_a_command_of_their_own(report: Run) -> None:
    claims = report("claims", "--paper", "hashformers")
    assert claims.code == 0 and "further claims name models that the experiment does not have" in claims.out


def test_a_page_says_what_it_is_doing_and_where_it_lies(report: Run) -> None:
    made = report("--format", "html", "--output", "page.html")
    assert made.code == 0 and made.out.startswith("page.html: ") and Path("page.html").stat().st_size > 10_000
    assert made.err.startswith("results.db: reading results, deciding claims ...\nfigure 1 of ")


@pytest.mark.parametrize("old", [("--claims", "--paper", "hashformers"), ("--paper", "hashformers", "--claims")])
def test_the_old_spelling_does_the_same_and_says_the_new_one(report: Run, old: tuple[str, ...]) -> None:
    outcome = report(*old)
    assert outcome.out == report("claims", "--paper", "hashformers").out
    assert outcome.err == "hashbench: this spelling ends with the next release; write: hashbench report claims ...\n"


def test_an_experiment_of_a_commands_name_goes_by_its_option(report: Run) -> None:
    fails(report("--experiment", "claims"), "results.db: no experiment 'claims'")
    fails(report("claims", "--experiment", "robustness"), "results.db: no experiment 'robustness'")
    fails(report("robustness"), "has no finished robustness run; write robustness: true")


def test_a_command_has_only_the_options_that_it_reads(report: Run) -> None:
    fails(report("robustness", "--paper", "eelbert"), "No such option: --paper; see: hashbench report robustness")
    fails(report("claims", "--versus", "bert-sr"), "No such option: --versus; see: hashbench report claims --help")
    fails(report("--robustness", "--table", "1"), "No such option: --table (Possible options: --task); see: ")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("report x --robustness --versus m", "report robustness x --versus m"),
        ("report x --versus=m", "report robustness x --versus=m"),
        ("report --claims-file own.csv", "report claims --claims-file own.csv"),
        ("report x --table 2", "report x --table 2"),
        ("status x", "status x"),
    ],
)
def test_words_are_put_as_they_are_spelt_now(old: str, new: str) -> None:
    assert in_this_release(old.split())[0] == new.split()
