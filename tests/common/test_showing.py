"""What others wrote reaches no terminal as a command, no password a screen, and one number prints alike everywhere."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hashbench
from hashbench.common.showing import decimal_text, percent_text, printable, printable_parts, rounded, without_passwords


@pytest.mark.parametrize("code", [0, 7, 8, 13, 27, 127, 0x9B, 0x202E, 0x2067])
def test_control_characters_are_written_out(code: int) -> None:
    assert printable(f"a{chr(code)}b") == f"a\\u{code:04x}b"


@pytest.mark.parametrize("text", ["two\nlines\tand a tab", "Grüße, 你好, שלום, 👩‍🔬"])
def test_all_other_texts_stay(text: str) -> None:
    assert printable(text) == text


@dataclass(frozen=True)
class Leaf:
    name: str
    size: float


@dataclass(frozen=True)
class Tree:
    leaves: tuple[Leaf, ...]
    notes: dict[str, list[str]]


def test_texts_are_found_wherever_they_stand() -> None:
    hostile = Tree((Leaf("\x1b[2J", 1.0), Leaf("fine", 2.0)), {"\x07": ["\x08"]})
    assert printable_parts(hostile) == Tree((Leaf("\\u001b[2J", 1.0), Leaf("fine", 2.0)), {"\\u0007": ["\\u0008"]})
    fine = Tree((Leaf("fine", 2.0),), {"a": ["b"]})
    assert printable_parts(fine) is fine


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:s3cr3t@host/runs",
        "postgresql+psycopg://me:s3cr3t@/runs?host=/tmp",
        "postgresql://me:s3cr3t@with@signs@host:5432/runs",
        "postgresql://me:s3cr3t/with/slashes@host/runs",
        "postgresql://host/runs?user=me&password=s3cr3t",
        "host=box user=me PASSWORD=s3cr3t dbname=runs",
        "s3://me:s3cr3t@bucket/folder",
        "https://me:s3cr3t@example.org/data.csv",
    ],
)
def test_passwords_are_hidden(address: str) -> None:
    shown = without_passwords(f"sweep a.yaml --db {address} --workers 2")
    assert "s3cr3t" not in shown and "with" not in shown
    assert shown.startswith("sweep a.yaml --db ") and shown.endswith(" --workers 2") and "***" in shown


@pytest.mark.parametrize("text", ["postgresql://me@host/runs", "sweep a.yaml --db results.db", "a: b@c", "C:/x@y"])
def test_what_holds_no_password_stays(text: str) -> None:
    assert without_passwords(text) == text


@pytest.mark.parametrize(("value", "text"), [(74.55, "74.5"), (70.35, "70.3"), (82.35, "82.3"), (74.65, "74.7")])
def test_a_mean_halfway_between_two_prints_has_one(value: float, text: str) -> None:
    assert {decimal_text(100 * (value / 100), 1), percent_text(value / 100), decimal_text(value, 1)} == {text}


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=4), st.sampled_from([0, 1, 2, 3]))
def test_a_mean_prints_alike_however_it_is_summed(right: list[int], decimals: int) -> None:
    shares = [n / 1000 for n in right]
    ways = {100 * statistics.fmean(shares), statistics.fmean(100 * share for share in shares)}
    ways |= {100 * (sum(order) / len(order)) for order in permutations(shares)}
    assert len({decimal_text(way, decimals) for way in ways}) == 1
    assert len({rounded(way, decimals) for way in ways}) == 1


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_text_and_rounded_number_agree(value: float, decimals: int) -> None:
    assert float(decimal_text(value, decimals)) == rounded(value, decimals)
    assert float(decimal_text(value, decimals, "+")) == rounded(value, decimals)
    assert abs(rounded(value, decimals) - value) <= 0.5000001 * 10.0**-decimals


def test_no_score_is_printed_by_a_rounding_of_its_own() -> None:
    """Percents go through `percent_text` and `decimal_text`; the page's script has one function for them."""
    package = Path(hashbench.__file__).parent
    own = re.compile(r"(100 \*|PERCENT \*)[^{}]*(:[+,]*\.\d+f\}|, ['\"]\.\d+f['\"]\))")
    rooms = [package / room for room in ("results", "cli", "deployment", "running/runs")]
    files = [file for room in (*rooms, package.parent / "analysis") for file in room.rglob("*.py")]
    assert len(files) > 100
    found = [f"{file.name}: {line.strip()}" for file in files for line in file.read_text().splitlines()
             if own.search(line)]  # fmt: skip
    assert [line for line in found if "MB" not in line] == []
    script = (package / "results/rendering/page/static/panel.js").read_text()
    assert script.count("toFixed") == 3 and "value.toFixed(9)).toFixed(n)" in script  # twice there, once of seconds
