"""What an attempt stores of its place: an id that says all of it, in JSON that every database reads."""

from __future__ import annotations

import hashlib
import json

import pytest

from hashbench.store.environment import LEFT_OUT, Environment, as_json

PLACE = Environment(
    host="läb", git_commit="c0ffee", git_tree="7ree", git_diff="+ a", packages={"torch": "2"}, hardware={"cores": "2"},
    hardware_name="Prozessor ä",
)  # fmt: skip


def test_canonical_json_is_one_text_for_one_value() -> None:
    assert as_json({"b": [1, "é"], "a": None}) == '{"a":null,"b":[1,"é"]}'
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"a": float("nan")})


def test_the_id_is_the_hash_of_the_rest_and_the_row_gives_the_place_back() -> None:
    row = PLACE.row()
    rest = {name: value for name, value in row.items() if name != "id"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert row["id"] == hashlib.sha256(text.encode()).hexdigest()
    assert "läb" in text
    assert Environment.of_row(row) == PLACE


def test_a_diff_can_be_left_out_and_its_being_is_kept() -> None:
    assert PLACE.without_diff().git_diff == LEFT_OUT
    assert PLACE.without_diff().without_diff() == PLACE.without_diff()
