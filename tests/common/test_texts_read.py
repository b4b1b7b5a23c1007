from __future__ import annotations

from hashbench.common.measured import TextCounts, TextsRead

COUNTS = TextCounts(texts=4, texts_cut=1, tokens=40, tokens_lost=2, characters=200, characters_lost=50)


def test_shares_of_texts_tokens_and_characters_are_kept_apart() -> None:
    assert (COUNTS.share_cut, COUNTS.share_of_tokens_lost, COUNTS.share_lost) == (0.25, 0.05, 0.25)
    assert COUNTS.tokens_a_text == 10
    empty = TextCounts(0, 0, 0, 0, 0, 0)
    assert (empty.share_cut, empty.share_of_tokens_lost, empty.share_lost) == (0, 0, 0)


def test_note_is_read_back_and_a_run_without_one_is_not_counted() -> None:
    read = TextsRead(64, {"train": COUNTS, "test": COUNTS})
    assert TextsRead.of_notes({"origin": "own", "texts_read": read.note()}) == read
    assert TextsRead.of_notes({"origin": "own"}) is None


def test_share_of_the_tokens_of_train_that_is_kept() -> None:
    read = TextsRead(8, {"train": TextCounts(4, 1, 100, 10, 400, 0)})
    assert read.keeps(0.9) and not read.keeps(0.91) and TextsRead(8, {"test": COUNTS}).keeps(1.0)
