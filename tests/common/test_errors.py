from __future__ import annotations

import pytest

from hashbench.common.errors import InputError, first_line, located, near_match


def test_a_place_stands_before_the_message_and_the_first_error_is_kept() -> None:
    with pytest.raises(InputError, match=r"^glue\.yaml: line 7: unknown model$") as caught:
        with located("glue.yaml"), located("line 7"):
            raise InputError("unknown model")
    assert isinstance(caught.value.__cause__, InputError) and str(caught.value.__cause__) == "line 7: unknown model"


def test_an_error_that_is_none_of_the_users_passes_as_it_is() -> None:
    with pytest.raises(KeyError) as caught:
        with located("glue.yaml"):
            raise KeyError("x")
    assert caught.value.args == ("x",)


def test_without_an_error_a_place_changes_nothing() -> None:
    with located("glue.yaml"):
        reached = True
    assert reached


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("first\nsecond"), "first"),
        (ValueError("\n  first  \nsecond"), "first  "),
        (ValueError(), "ValueError"),
        (OSError("  "), "OSError"),
    ],
)
def test_the_first_line_of_an_error_is_its_message_or_its_class(error: Exception, line: str) -> None:
    assert first_line(error) == line


def test_near_words_are_named_the_nearest_first_and_far_ones_not() -> None:
    known = ["bert-mlm", "bert-mlm-2", "canine"]
    assert near_match("bert-mln", known) == "; did you mean 'bert-mlm' or 'bert-mlm-2'?"
    assert near_match("canin", known) == "; did you mean 'canine'?"
    assert near_match("xyz", known) == near_match("canin", []) == ""


@pytest.mark.parametrize(
    ("where", "said", "whole"),
    [
        ("a.yaml:6: model 'm'", "a.yaml:9: task 't': no folder", "a.yaml:9: task 't': no folder"),
        ("a.yaml:6: model 'm'", "b.yaml:9: no folder", "a.yaml:6: model 'm': b.yaml:9: no folder"),
        ("a.yaml", "a.yaml:9: no folder", "a.yaml:9: no folder"),
    ],
)
def test_the_innermost_line_of_a_file_is_named_alone(where: str, said: str, whole: str) -> None:
    with pytest.raises(InputError) as raised, located(where):
        raise InputError(said)
    assert str(raised.value) == whole
