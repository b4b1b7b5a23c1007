"""The table of docs/speed.md: each row is read from what its benchmark prints, or says why it is empty."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks import table
from benchmarks.table import COMMANDS, HERE, ROWS, Row, value_in

PRINTED = """
bert-mlm                     1,506 examples/s   3.61 x the peer (3.59 to 3.66)
mlm             hashbench bert-mlm                              9,808 tokens/s    8.77x (8.77 to 8.93)
ratio 245 (240 to 251 in 3 rounds)
words + md5 bits against tokie BPE: 12.34 (11.93 to 13.58)
| eelbert-tiny | generated file | 0.215 (0.205 to 0.283) | 0.106 (0.104 to 0.111) | 1,024 | 89 MiB | 165 | 1.603 (1.262 to 1.844) | 7.7 (7.4 to 8.1) |
report claims glue_tiny --db r.db: CPU 4.80 s (4.71 to 5.02), peak 180 MiB
"""  # noqa: E501


def row(behind: str) -> Row:
    return next(each for each in ROWS if each.behind.startswith(behind))


@pytest.mark.parametrize(
    ("behind", "value"),
    [
        (r"bert-mlm ", "3.61 times as fast (3.59 to 3.66)"),
        (r"mlm +hashbench", "8.77 times as fast (8.77 to 8.93)"),
        (r"words \+ md5 bits against tokie", "12.3 times as fast (11.9 to 13.6)"),
        (r"\| eelbert-tiny \| generated file \|", "1.60 times as long (1.26 to 1.84)"),
        (r"^report claims", "4.80 CPU seconds (4.71 to 5.02)"),
        (r"^compare ", "not measured"),
    ],
)
def test_a_row_is_read_from_the_line_of_its_benchmark(behind: str, value: str) -> None:
    assert value_in(replace(row(behind), package=None), PRINTED) == value


def test_a_peer_that_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "version_of", lambda package: None)
    assert value_in(row(r"bert-mlm "), PRINTED) == "not installed; pip install 'hashbench[bench]'"


def test_each_row_names_a_command_whose_file_is_there() -> None:
    assert {each.benchmark for each in ROWS} == set(COMMANDS)
    for command in (*COMMANDS.values(), *table.MORE):
        assert (HERE / command.split()[0]).is_file()
