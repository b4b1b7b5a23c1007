"""Plain English in docstrings, comments and names: words that are not used in them, with exceptions and reasons.

A docstring's first line says what comes back or what a class is, so it does not begin with "What", "Whether" or "The
same". Printed messages and stored keys are not read here.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.parsed import tree_of

PACKAGE = Path(__file__).resolve().parents[1] / "hashbench"
TOP = "."  # modules of the package itself
ROOMS = (TOP, "cli", "common", "data", "deployment", "models", "results", "running", "scores", "store")
# word -> what to write instead
WORDS = {
    "stand|stands|stood|standing": "is, is stored, is printed",
    "asked": "requested",
    "told|tells|said": "printed, reported, declared",
    "alike": "equal",
    "one's own|of their own|of its own|of your own|the user's own|of the user's own|a user's own": "user-defined",
    "theirs|ours": "the name of the other thing",
}
TEXT = re.compile(rf"\b({'|'.join(WORDS)})\b", re.IGNORECASE)
FIRST_LINE = re.compile(r"(What|Whether|The same)\b")
COMMENT = re.compile(rf"#.*\b({'|'.join(WORDS)})\b", re.IGNORECASE)
NAMES = frozenset(
    "found made each one given left known said told asked alike theirs ours wish parcel stands others_said".split()
)
# (file, word or name) -> the reason that it is right there
EXCEPTIONS = {("cli/report.py", "theirs"): "a file of an example: theirs.db beside mine.db"}

pytestmark = pytest.mark.skipif(not PACKAGE.is_dir(), reason="no sources beside the tests")

Hit = tuple[int, str, str]  # line, word, text


def _names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Names that a file defines: of parameters, variables, fields, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name


def _hits(source: str, tree: ast.Module) -> Iterator[Hit]:
    """The words of the list in one file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (ast.get_docstring(node, clean=True) or "").splitlines()
            at = getattr(node, "lineno", 1)
            if lines and (first := FIRST_LINE.match(lines[0])):
                yield at, first[0], lines[0]
            for line in lines:
                if not line.lstrip().startswith(">>>"):
                    yield from ((at, word[0].lower(), line.strip()) for word in TEXT.finditer(line))
    if COMMENT.search(source):  # reading tokens takes ten times as long as parsing
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                yield from ((token.start[0], word[0].lower(), token.string) for word in TEXT.finditer(token.string))
    names = list(_names(tree))
    # `left` beside `right` are the two sides of something.
    allowed = {"left"} if any(name == "right" for _, name in names) else set()
    yield from ((at, name, f"name {name}") for at, name in names if name in NAMES - allowed)


def _of_room(room: str) -> dict[tuple[str, str], list[str]]:
    """The hits of a room by file and word."""
    hits: dict[tuple[str, str], list[str]] = {}
    for path in sorted((PACKAGE / room).glob("*.py" if room == TOP else "**/*.py")):
        place = str(path.relative_to(PACKAGE))
        for line, word, text in _hits(path.read_text(encoding="utf-8"), tree_of(path)):
            hits.setdefault((place, word), []).append(f"{place}:{line}: [{word}] {text}")
    return hits


def test_every_room_is_read() -> None:
    assert {path.parent.name for path in PACKAGE.glob("*/__init__.py")} == set(ROOMS) - {TOP}


@pytest.mark.parametrize("room", ROOMS)
def test_docstrings_comments_and_names_are_plain_english(room: str) -> None:
    hits = _of_room(room)
    assert [line for key, lines in hits.items() if key not in EXCEPTIONS for line in lines] == []
    needless = [key for key in EXCEPTIONS if key[0].startswith(f"{room}/") and key not in hits]
    assert needless == [], "exceptions that nothing needs"


def test_the_list_is_read_in_docstrings_comments_and_names() -> None:
    source = '''
"""Whether it stands alone."""
def told(left, given):
    """Sum of both.

    >>> asked = 1
    """
    return left  # as was said, 'alike'
'''
    assert [word for _, word, _ in _hits(source, ast.parse(source))] == [
        "Whether", "stands", "said", "alike", "told", "left", "given",
    ]  # fmt: skip
    source = "left, right = 1, 2"
    assert [word for _, word, _ in _hits(source, ast.parse(source))] == []
