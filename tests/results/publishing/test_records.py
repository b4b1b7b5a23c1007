"""results/publishing/records.py: ids, parts of paths."""

from __future__ import annotations

import re
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hashbench.common.errors import InputError
from hashbench.results.publishing.records import _bounds, checked_organisation, content_id, path_part
from hashbench.scores.base import find_metric


@given(st.text(max_size=12))
def test_a_part_of_a_path_is_one_on_every_system(name: str) -> None:
    part = path_part(name)
    assert path_part(part) == part
    assert not re.search(r'[<>:"\\|?*/\x00-\x1f]', part) and part.strip().rstrip(". ") == part != ""
    assert part.lower() not in ("data", "unknown", "con", "nul", ".", "..")


@given(st.dictionaries(st.text(max_size=3), st.integers()), st.dictionaries(st.text(max_size=3), st.integers()))
def test_ids_are_of_the_content_in_the_form_of_version_4(first: dict[str, int], second: dict[str, int]) -> None:
    parsed = uuid.UUID(content_id(first))
    assert (parsed.version, parsed.variant) == (4, uuid.RFC_4122)
    assert (content_id(first) == content_id(second)) == (first == second)
    assert content_id(dict(reversed(first.items()))) == content_id(first)


@pytest.mark.parametrize("name", ["", "my/lab", "data", "lab.", "a:b", "NUL", "unknown", "my lab", "-x"])
def test_a_name_that_is_none_of_an_organisation(name: str) -> None:
    with pytest.raises(InputError, match="is no name of an organisation"):
        checked_organisation(name)


def test_bounds_of_a_metric_hold_its_scores() -> None:
    assert _bounds(find_metric("accuracy"), [0.5]) == (0.0, 1.0)
    assert _bounds(find_metric("matthews"), [-0.5]) == (-1.0, 1.0)
    assert _bounds(None, [-3.0, 0.5]) == ("-Infinity", 1.0) and _bounds(None, [7.0]) == (0.0, "Infinity")
