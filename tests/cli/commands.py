"""What the tests of commands share: the form of wrong input."""

from __future__ import annotations

from collections.abc import Callable

from tests.commands import Outcome

Run = Callable[..., Outcome]


def fails(outcome: Outcome, message: str) -> None:
    """The outcome of wrong input: exit code 2, nothing on stdout, one line on stderr."""
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.count("\n") == 1 and outcome.err.startswith("hashbench: ")
    assert message in outcome.err
