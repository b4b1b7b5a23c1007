"""What others wrote reaches no terminal as a command, and no password reaches a file or a screen."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from hashbench.common.secrecy import without_passwords
from hashbench.common.showing import printable, printable_parts


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
