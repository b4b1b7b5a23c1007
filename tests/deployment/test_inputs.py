"""One way to ask: a text, a pair, or a list of either; everything else is one clear TypeError."""

from __future__ import annotations

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.deployment.inputs import asked_line, of_lines, question, without_mark


@pytest.mark.parametrize(
    ("asked", "is_pair", "columns", "is_one"),
    [
        ("a film", False, [["a film"]], True),
        (["a film"], False, [["a film"]], False),
        ([], False, [[]], False),
        ([], True, [[], []], False),
        ((text for text in "ab"), False, [["a", "b"]], False),
        (np.array(["a", "b"]), False, [["a", "b"]], False),
        (("a", "b"), True, [["a"], ["b"]], True),
        ([("a", "b"), ["c", "d"]], True, [["a", "c"], ["b", "d"]], False),
        ("a film", None, [["a film"]], True),
        (("a", "b"), None, [["a"], ["b"]], True),
    ],
)
def test_what_may_be_asked(asked, is_pair, columns, is_one) -> None:
    found = question(asked, is_pair)
    assert (found.columns, found.is_one, len(found)) == (columns, is_one, len(columns[0]))


@pytest.mark.parametrize(
    ("asked", "is_pair", "message"),
    [
        (None, False, "NoneType None: this model reads single texts: give one, or a list of texts"),
        (b"bytes", False, "bytes b'bytes': this model reads single texts"),
        ({"text": "a"}, False, "dict {'text': 'a'}: this model reads single texts"),
        (["a", None], False, "NoneType None: this model reads single texts"),
        ([("a", "b")], False, r"tuple \('a', 'b'\): this model reads single texts"),
        (("a", "b"), False, r"tuple \('a', 'b'\): this model reads single texts"),
        ("a film", True, "str 'a film': this model reads pairs of texts: give one as a tuple"),
        (["a", "b"], True, "str 'a': this model reads pairs of texts"),
        ([("a",)], True, r"tuple \('a',\): this model reads pairs of texts"),
        ([("a", 1)], True, r"tuple \('a', 1\): this model reads pairs of texts"),
        (3, None, "int 3: give a text, or a pair of texts as a tuple, or a list of either"),
    ],
)
def test_anything_else_is_one_clear_type_error(asked, is_pair, message) -> None:
    with pytest.raises(TypeError, match=message):
        question(asked, is_pair)


def test_lines_are_texts_or_pairs() -> None:
    assert of_lines(["a\tb", "c"], is_pair=False) == ["a\tb", "c"]
    assert of_lines(["a\tb\tc"], is_pair=True) == [("a", "b\tc")]
    assert asked_line("gro\u00df".encode() + b"\r\n", "line 1", is_pair=False) == "gro\u00df"
    assert asked_line("an argument stays\n", "line 1", is_pair=False) == "an argument stays\n"


@pytest.mark.parametrize(
    ("line", "is_pair", "message"),
    [
        (b"caf\xe9", False, r"^line 7: is not UTF-8 \(byte 4 is 0xe9\); convert the text, as with iconv -t utf-8$"),
        (b"one", True, "^line 7: no pair; write two texts with a tab between$"),
        ("x" * 100, True, f"^'{'x' * 60}': no pair"),
    ],
)
def test_a_line_that_is_no_text_or_no_pair_is_named(line: str | bytes, is_pair: bool, message: str) -> None:
    with pytest.raises(InputError, match=message):
        asked_line(line, "line 7", is_pair)


def test_one_byte_order_mark_before_all_lines_is_left_out() -> None:
    mark = b"\xef\xbb\xbf"
    assert list(without_mark([mark + b"a\n", b"b\n"])) == [b"a\n", b"b\n"]
    assert list(without_mark([mark + mark + b"a", mark + b"b"])) == [mark + b"a", mark + b"b"]
    assert list(without_mark([])) == []
