"""tests/equal_code.py: rows of fingerprints follow the code from commit to commit."""

import pytest

from tests.equal_code import fingerprints, merged


def test_rows_follow_to_the_latest_fingerprint() -> None:
    before = {"finetune|cola": "b", "finetune|cola|m": "x", "pretrain|None": "c"}
    now = {"finetune|cola": "d", "finetune|cola|m": "x", "pretrain|None": "c", "new|None": "n"}
    assert merged({"a": "b", "k": "x"}, before, now) == {"a": "d", "b": "d", "k": "x"}


def test_code_that_fell_apart_is_refused() -> None:
    with pytest.raises(ValueError, match=r"became several: \{'b': \['d', 'e'\]\}"):
        merged({}, {"p": "b", "q": "b"}, {"p": "d", "q": "e"})


@pytest.mark.slow
def test_every_kind_of_run_and_model_has_a_fingerprint() -> None:
    digests = fingerprints()
    assert len(digests["finetune|classification"]) == 8 != digests["finetune|classification|model bert-mlm"]
    assert digests["finetune|classification"] != digests["finetune|tagging"]
