"""Text to codes: white-space words a second, against the BPE of the `tokenizers` library on the same cores.

    python benchmarks/text_to_codes.py --data FOLDER                 # FOLDER/corpora/wikipedia/*.parquet
    python benchmarks/text_to_codes.py --data FOLDER --megabytes 5 --rounds 5

The peer goes from texts to ids by `encode_batch_fast` with a byte-level BPE trained on the head of the same texts.
Ours goes from texts to type ids in final order, the table of types with counts, and the code of every type (the 128
bits of MD5 or of LSH), with the tokenizer `words`; with `unicode` and MD5 too, against `words`. Not timed on either
side: reading the files, BPE training, the fit of the n-gram dictionary, compilation. Contestants take turns (A B C A B
C ...); medians of rounds are printed, and the ratios are medians of the ratios within a round. Both use all cores that
the process may use; HASHBENCH_THREADS and RAYON_NUM_THREADS limit them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from tokenizers import Tokenizer

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.text.base import Tokenizer as OurTokenizer
from hashbench.models.text.compiled import thread_count
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import UnicodeTokenizer, WordTokenizer

PEER = "tokenizers BPE"
MD5, UNICODE = "words + md5 bits", "unicode + md5 bits"
GOALS = {MD5: 10.0, "words + lsh bits": 5.0}  # times the peer
UNICODE_GOAL = 0.7  # times the tokenizer `words`


def read_texts(folder: Path, n_bytes: int) -> list[str]:
    """The first documents of a corpus until they make so many bytes of UTF-8."""
    files = sorted((folder / "corpora" / "wikipedia").glob("*.parquet"))
    if not files:
        raise InputError(f"{folder}: no corpora/wikipedia/*.parquet in it; name the data folder with --data")
    texts: list[str] = []
    size = 0
    for file in files:
        for text in pq.read_table(file, columns=["text"]).column("text").to_pylist():
            texts.append(text)
            size += len(text.encode())
            if size >= n_bytes:
                return texts
    return texts


def trained_bpe(texts: list[str], vocabulary_size: int) -> Tokenizer:
    """A byte-level BPE as the library's own users have it."""
    bpe = SubwordTokenizer("train")
    bpe.train(texts, vocabulary_size)
    return bpe.library_tokenizer()


def to_codes(texts: list[str], coder: Coder, tokenizer: OurTokenizer | None = None) -> TypeTable:
    """The timed work of ours, with the tokenizer `words` or another; returns the table, so that nothing is left out."""
    interner = (tokenizer or WordTokenizer()).interner()
    provisional = interner.add(texts)
    types, remap = interner.finish()
    provisional.remapped(remap)
    coder.encode_types(types)
    return types


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call; what it returns is dropped within the time."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--megabytes", type=float, default=50.0, help="of text")
    parser.add_argument("--train-megabytes", type=float, default=10.0, help="of the text that the BPE is trained on")
    parser.add_argument("--vocabulary-size", type=int, default=50_265)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder with --data")
    texts = read_texts(options.data, int(options.megabytes * 1e6))
    head = texts[: max(int(len(texts) * options.train_megabytes / options.megabytes), 1)]
    bpe, coders = trained_bpe(head, options.vocabulary_size), [make_coder("md5-bits"), make_coder("lsh-bits")]
    for coder in coders:
        coder.fit(to_codes(texts, make_coder("md5-bits")))
        to_codes(head[:100], coder)  # compiles
    contestants: dict[str, Callable[[], object]] = {PEER: partial(bpe.encode_batch_fast, texts)}
    contestants |= {name: partial(to_codes, texts, coder) for name, coder in zip(GOALS, coders, strict=True)}
    contestants[UNICODE] = partial(to_codes, texts, coders[0], UnicodeTokenizer())
    to_codes(head[:100], coders[0], UnicodeTokenizer())  # compiles
    rounds = [{name: seconds(work) for name, work in contestants.items()} for _ in range(options.rounds)]
    report(rounds, n_words=sum(len(text.split()) for text in texts), n_bytes=sum(len(text.encode()) for text in texts))


def report(rounds: list[dict[str, float]], n_words: int, n_bytes: int) -> None:
    """Print medians and ratios."""
    print(f"{n_bytes / 1e6:.1f} MB, {n_words:,} white-space words, {thread_count()} threads, {len(rounds)} rounds")
    for name in (PEER, *GOALS):
        middle = statistics.median(times[name] for times in rounds)
        line = f"{name:20s} {middle:8.3f} s {n_words / middle / 1e6:8.2f} M words/s"
        if name in GOALS:
            ratio = statistics.median(times[PEER] / times[name] for times in rounds)
            line += f"   {ratio:5.1f} x the peer (goal: {GOALS[name]:.0f} x)"
        print(line)
    of_words = statistics.median(times[MD5] / times[UNICODE] for times in rounds)
    print(f"{UNICODE:20s} {of_words:8.2f} x the words a second of {MD5} (goal: {UNICODE_GOAL})")


if __name__ == "__main__":
    main()
