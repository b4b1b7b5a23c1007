"""The counter of words: the same table however texts are cut into calls, and whatever the shared words are."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.models.text.fast import counting
from hashbench.models.text.fast.counting import ScanInterner, forget_words
from hashbench.models.text.types import DictInterner, TypeTable
from hashbench.models.text.words import UnicodeTokenizer, WordTokenizer
from tests.models.text.interning import assert_interns_as_a_dictionary

TOKENIZERS: dict[str, Tokenizer] = {
    "words": WordTokenizer(),
    "cased": WordTokenizer(lowercase=False),
    "whitespace": WordTokenizer("whitespace"),
    "unicode": UnicodeTokenizer(),
    "first unicode": UnicodeTokenizer(version=1),
    "unicode NFKC": UnicodeTokenizer(normalise="NFKC"),
    "words NFC": make_tokenizer("words", normalise="NFC"),
}
# Words about the borders of 8, 16 and 64 bytes, of one key, with NULs, and what changes before it is read
WORDS = [
    "a", "The", "the", ",", "...", "abcdefgh", "abcdefghi", "abcdefghijklmnop", "abcdefghijklmnopq", "x" * 63, "x" * 64,
    "x" * 65, "Y" * 200, "a\0", "a\0\0", "\0", "!\0", "!", "é", "Éa", "naïve", "Straße", "ΟΔΟΣ", "İx", "e\u0301", "é",
    "русское", "слово-длинное", "日本語", "ไทยคำ", "हिन्दी", "co\u00adld", "😀", "K", "\ud800", "\u0345", "_", "1984",
]  # fmt: skip
TEXT = st.lists(st.sampled_from(WORDS), max_size=40).flatmap(
    lambda words: st.sampled_from([" ", "", "\n", ", ", "\u00a0", "  \t "]).map(lambda between: between.join(words))
)


@pytest.fixture(autouse=True)
def no_shared_words() -> Iterator[None]:
    """Other tests' words are forgotten before, and these afterwards."""
    forget_words()
    yield
    forget_words()


def table_of(tokenizer: Tokenizer, texts: list[str], cuts: list[int]) -> tuple[TypeTable, list[int]]:
    """The table of texts that come in calls that end at `cuts`, and the final ids of all tokens."""
    interner, parts = tokenizer.interner(), []
    for start, stop in zip([0, *cuts], [*cuts, len(texts)], strict=True):
        parts.append(interner.add(texts[start:stop]))
    table, remap = interner.finish()
    return table, [i for part in parts for i in part.remapped(remap).ids.tolist()]


def plain_table(tokenizer: Tokenizer, texts: list[str]) -> tuple[TypeTable, list[int]]:
    plain = DictInterner(tokenizer.tokenize)
    ids = plain.add(texts)
    table, remap = plain.finish()
    return table, ids.remapped(remap).ids.tolist()


@given(
    st.lists(TEXT, max_size=12),
    st.lists(st.integers(0, 12), max_size=4).map(sorted),
    st.sampled_from(sorted(TOKENIZERS)),
    st.sampled_from(["empty", "filled", "full"]),
    st.randoms(use_true_random=False),
)
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_any_cut_and_any_shared_words_give_one_table(texts, cuts, name, shared, random) -> None:  # type: ignore[no-untyped-def]
    tokenizer, cuts = TOKENIZERS[name], [min(cut, len(texts)) for cut in cuts]
    forget_words()
    if shared != "empty":
        others = random.sample(WORDS, 12)
        tokenizer.interner().add([" ".join(others)])
    if shared == "full":
        for words in counting._shared.values():
            words.is_full = True
    expected, ids = plain_table(tokenizer, texts)
    table, found = table_of(tokenizer, texts, cuts)
    assert table.fingerprint == expected.fingerprint and found == ids
    shuffled = random.sample(texts, len(texts))  # with what was just learned
    assert table_of(tokenizer, shuffled, cuts[::2])[0].fingerprint == expected.fingerprint
    assert_interns_as_a_dictionary(tokenizer, texts, cuts)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_threads_and_chunks_give_one_table(threads: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HASHBENCH_THREADS", threads)
    monkeypatch.setattr(counting, "CHUNK_CHARACTERS", 300)
    random = np.random.default_rng(5)
    texts = [" ".join(random.choice(np.array(WORDS), 30)) for _ in range(60)]
    for tokenizer in TOKENIZERS.values():
        expected, ids = plain_table(tokenizer, texts)
        for cuts in ([], [1, 7, 7, 40]):
            table, found = table_of(tokenizer, texts, cuts)
            assert table.fingerprint == expected.fingerprint and found == ids


def test_a_full_table_takes_no_more_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "SHARED_BYTES", 1 << 18)
    monkeypatch.setenv("HASHBENCH_THREADS", "1")
    texts = [" ".join(f"word{i}and{j}" for j in range(50)) for i in range(200)]
    first, expected = WordTokenizer().interner(), plain_table(WordTokenizer(), texts)
    first.add(texts)
    (shared,) = counting._shared.values()
    assert shared.is_full and 0 < shared.size[0] < 10_000
    assert sum(array.nbytes for array in shared.arrays) <= 1 << 18
    assert first.finish()[0].fingerprint == expected[0].fingerprint
    assert table_of(WordTokenizer(), texts, [100])[0].fingerprint == expected[0].fingerprint


def test_two_counters_in_turns_and_at_once() -> None:
    one, other = WordTokenizer().interner(), WordTokenizer().interner()
    for i in range(5):
        one.add([f"a b{i} c"])
        other.add([f"b{i} d{i} a a"])
    assert one.finish()[0].strings()[:2] == ["a", "c"] and one.finish()[0].counts.tolist() == [5, 5, 1, 1, 1, 1, 1]
    assert other.finish()[0].counts.tolist()[0] == 10
    tables: list[str] = []

    def count() -> None:
        interner = WordTokenizer().interner()
        for i in range(30):
            interner.add([f"w{j} x{i * j}" for j in range(50)])
        tables.append(interner.finish()[0].fingerprint)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(tables) == 4 and len(set(tables)) == 1


def test_a_counter_costs_its_own_words_only() -> None:
    """Its provisional ids number the words of its own texts, whatever others have read."""
    WordTokenizer().interner().add([" ".join(f"other{i}" for i in range(5_000))])
    interner = WordTokenizer().interner()
    assert isinstance(interner, ScanInterner)
    assert interner.add(["b other7 b a"]).ids.tolist() == [0, 1, 0, 2]
    types, places = interner.distinct()
    assert types.counts.tolist() == [2, 1, 1] and places.tolist() == [0, 1, 2] and bytes(types.blob) == b"bother7a"


def test_one_token_larger_than_the_buffer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "BUFFER_BYTES", 1 << 9)
    monkeypatch.setattr(counting, "BUFFER_TOKENS", 1 << 8)
    long = ["z" * 5_000, "ж" * 3_000, "é" * 400 + "e" * 3_000 + "\0" * 700 + "!", "a " * 2_000, "q" * 511 + " r"]
    for name in ("words", "unicode"):
        expected, ids = plain_table(TOKENIZERS[name], long)
        table, found = table_of(TOKENIZERS[name], long, [2])
        assert table.fingerprint == expected.fingerprint and found == ids


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not forked here")
def test_a_forked_process_begins_anew() -> None:
    """The lock of a thread that was reading is not held for ever there."""
    before = WordTokenizer().interner()
    before.add(["a b c"])
    for words in counting._shared.values():
        words.lock.acquire()
    child = os.fork()
    if child == 0:
        before.add(["c d"])
        fresh = WordTokenizer().interner()
        fresh.add(["c d"])
        right = before.finish()[0].strings() == ["c", "a", "b", "d"] and fresh.finish()[0].strings() == ["c", "d"]
        os._exit(0 if right else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    for words in counting._shared.values():
        words.lock.release()


def test_a_text_must_be_a_text() -> None:
    with pytest.raises(TypeError):
        WordTokenizer().interner().add(["a" * 20_000, None])  # type: ignore[list-item]
