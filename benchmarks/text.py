"""Texts to codes: megabytes a CPU second, against byte-level BPE by `tokenizers`, tokie and gigatoken in the same run.

    python benchmarks/text.py --data FOLDER                 # FOLDER/corpora/wikipedia/*.parquet
    python benchmarks/text.py --data FOLDER --megabytes 5 --rounds 3 --threads 2

`pip install 'hashbench[bench]'` brings tokie and gigatoken; a row says so where one is not installed. All peers have
one vocabulary, a byte-level BPE trained on the head of the same texts, and go from texts to ids. Ours goes from texts
to type ids in final order, the table of types with counts, and the code of every type (128 bits of MD5 or of LSH). A
cold contestant has met no word before; a warm one has read the first half of the texts and is timed on the second.
Warm, ours makes the ids and codes of the second half without a table. Every contestant gets new strings in every round,
so that none finds the UTF-8 that another left with them. Rows of a file begin with one file of documents between
separators. Not timed on any side: training, compilation (printed by itself), the fit of the n-gram dictionary.

Contestants take turns (A B C A B C ...). The times are CPU times of all threads; medians of rounds are printed, and
ratios are medians of the ratios within a round, with the smallest and largest.
"""

from __future__ import annotations

import argparse
import importlib
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tokenizers import Tokenizer

from hashbench.common.errors import InputError
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.text.base import Tokenizer as OurTokenizer
from hashbench.models.text.fast.counting import forget_words
from hashbench.models.text.subwords import SubwordTokenizer
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import UnicodeTokenizer, WordTokenizer

SEPARATOR = "<|endoftext|>"
COLD, WARM = "gigatoken BPE, cold", "gigatoken BPE, warm words, second half"
MD5, MD5_WARM = "words + md5 bits", "words + md5 bits, warm words, second half"
LSH, UNICODE = "words + lsh bits", "unicode + md5 bits"
NO_TABLE = "no table, order or counts"
# Megabytes a CPU second, and times gigatoken
GOALS = {MD5: (130, COLD, 1.0), MD5_WARM: (250, WARM, 1.5)}
# Whose ratios are printed at the end, of CPU time
PAIRS = [
    (MD5, "tokenizers BPE"), (MD5, "tokie BPE"), (MD5, COLD), (f"{MD5}, from a file", f"{COLD}, from a file"),
    (LSH, COLD), (UNICODE, COLD), (MD5_WARM, WARM),
]  # fmt: skip
Work = Callable[[], object]


@dataclass(frozen=True)
class Contestant:
    """A row: `prepare` makes the timed work, from new strings and untimed."""

    name: str
    leaves_out: str
    prepare: Callable[[], Work] | None  # None: not installed
    n_bytes: int


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


def new_strings(texts: list[str]) -> list[str]:
    """Equal strings that nothing has read yet."""
    return [text.encode().decode() for text in texts]


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


def without_table(texts: list[str], coder: Coder) -> object:
    """Ids of the texts' types by first occurrence, and the codes of these, in no order and without counts."""
    interner = WordTokenizer().interner()
    ids = interner.add(texts)
    types, _ = interner.distinct()
    return ids, coder.encode_utf8(types.blob, types.offsets)


def library(name: str) -> Any:
    """A peer's package, None where it is not installed."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


class Contest:
    """All contestants of one list of texts."""

    def __init__(self, texts: list[str], bpe: Tokenizer, folder: Path) -> None:
        self._texts, self._second = texts, texts[len(texts) // 2 :]
        self._first = texts[: len(texts) // 2]
        self._bpe = bpe
        self._file, self._json = folder / "texts.txt", folder / "bpe.json"
        self._file.write_text(SEPARATOR.join(texts), "utf-8", newline="")
        bpe.save(str(self._json))
        self._sizes = {id(part): sum(len(text.encode()) for text in part) for part in (texts, self._second)}

    def _row(self, name: str, leaves_out: str, prepare: Callable[[], Work] | None, texts: list[str]) -> Contestant:
        return Contestant(name, leaves_out, prepare, self._sizes[id(texts)])

    def peers(self) -> list[Contestant]:
        """BPE by three libraries."""
        gigatoken, tokie, texts, second = library("gigatoken"), library("tokie"), self._texts, self._second
        content = self._json.read_text("utf-8")

        def tokenizers(work: Callable[..., object], part: list[str]) -> Work:
            return partial(work, new_strings(part))

        def by_gigatoken(part: list[str], before: list[str]) -> Work:
            tokenizer = gigatoken.Tokenizer.from_json(content)
            if before:
                tokenizer.encode_batch(new_strings(before))
            return partial(tokenizer.encode_batch, new_strings(part))

        def from_file_by_gigatoken() -> Work:
            source = gigatoken.TextFileSource([str(self._file)], separator=SEPARATOR)
            return partial(gigatoken.Tokenizer.from_json(content).encode_files, source)

        def by_tokie(file: bool) -> Work:
            tokenizer = tokie.Tokenizer.from_json(str(self._json))
            if file:
                return partial(tokenizer.encode_files, [str(self._file)], SEPARATOR.encode())
            return partial(tokenizer.encode_batch, new_strings(texts), add_special_tokens=False)

        rows: list[tuple[str, Callable[[], Work] | None, list[str]]] = [
            ("tokenizers BPE", lambda: tokenizers(self._bpe.encode_batch_fast, texts), texts),
            ("tokie BPE", tokie and partial(by_tokie, False), texts),
            ("tokie BPE, from a file", tokie and partial(by_tokie, True), texts),
            (COLD, gigatoken and partial(by_gigatoken, texts, []), texts),
            (f"{COLD}, from a file", gigatoken and from_file_by_gigatoken, texts),
            (WARM, gigatoken and partial(by_gigatoken, second, self._first), second),
            ("gigatoken BPE, the same text again", gigatoken and partial(by_gigatoken, texts, texts), texts),
        ]
        return [self._row(name, NO_TABLE, prepare, part) for name, prepare, part in rows]

    def ours(self, coders: dict[str, Coder]) -> list[Contestant]:
        """Words to codes."""
        md5, texts, second = coders["md5"], self._texts, self._second

        def cold(work: Callable[[list[str]], object]) -> Work:
            forget_words()
            return partial(work, new_strings(texts))

        def from_file() -> object:
            # One string of all texts would take up to four bytes a character
            parts = self._file.read_bytes().split(SEPARATOR.encode())
            return to_codes([part.decode() for part in parts], md5)

        def file() -> Work:
            forget_words()
            return from_file

        def warm(before: list[str], part: list[str]) -> Work:
            forget_words()
            WordTokenizer().interner().add(new_strings(before))
            return partial(without_table, new_strings(part), md5)

        return [
            self._row(MD5, "nothing", lambda: cold(lambda part: to_codes(part, md5)), texts),
            self._row(f"{MD5}, from a file", "nothing", file, texts),
            self._row(LSH, "nothing", lambda: cold(lambda part: to_codes(part, coders["lsh"])), texts),
            self._row(
                UNICODE,
                "nothing",
                lambda: cold(lambda part: to_codes(part, md5, UnicodeTokenizer())),
                texts,
            ),
            self._row(MD5_WARM, NO_TABLE, lambda: warm(self._first, second), second),
            self._row(f"{MD5}, the same text again", NO_TABLE, lambda: warm(texts, texts), texts),
        ]


def cpu_seconds(work: Work) -> float:
    """CPU time of one call on all threads; what it returns is dropped within the time."""
    start = time.process_time()
    work()
    return time.process_time() - start


def compilation_seconds() -> tuple[float, float]:
    """CPU seconds of a new process up to the codes of two texts: with machine code to be made, and with it stored."""
    source = "from benchmarks.text import *; to_codes(['word ' * 9_000, 'é'], make_coder('md5-bits'))"
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        spent = []
        for _ in range(2):
            before = os.times()
            subprocess.run([sys.executable, "-c", source], env=environment, check=True, cwd=Path(__file__).parents[1])
            after = os.times()
            spent.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return spent[0], spent[1]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--megabytes", type=float, default=20.0, help="of text")
    parser.add_argument("--train-megabytes", type=float, default=5.0, help="of the text that the BPE is trained on")
    parser.add_argument("--vocabulary-size", type=int, default=50_265)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1, help="of every contestant")
    parser.add_argument("--without-tokenizers", action="store_true", help="leave out the slowest peer")
    parser.add_argument("--without-compilation", action="store_true", help="do not time compilation")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder with --data")
    os.environ |= {"HASHBENCH_THREADS": str(options.threads), "RAYON_NUM_THREADS": str(options.threads)}
    texts = read_texts(options.data, int(options.megabytes * 1e6))
    head = texts[: max(int(len(texts) * options.train_megabytes / options.megabytes), 1)]
    coders = {"md5": make_coder("md5-bits"), "lsh": make_coder("lsh-bits")}
    for coder in coders.values():
        coder.fit(to_codes(texts, make_coder("md5-bits")))
        to_codes(head, coder)  # compiles
    to_codes(head, coders["md5"], UnicodeTokenizer())
    with tempfile.TemporaryDirectory() as folder:
        contest = Contest(texts, trained_bpe(head, options.vocabulary_size), Path(folder))
        rows = contest.peers()[options.without_tokenizers :] + contest.ours(coders)
        racing = {row.name: row.prepare for row in rows if row.prepare}
        rounds = [{name: cpu_seconds(prepare()) for name, prepare in racing.items()} for _ in range(options.rounds)]
    report(rows, rounds, texts, options.threads)
    if not options.without_compilation:
        first, later = compilation_seconds()
        print(f"compilation, once per installation: {first - later:.0f} CPU seconds; a process without it {later:.1f}")


def report(rows: list[Contestant], rounds: list[dict[str, float]], texts: list[str], threads: int) -> None:
    """Print medians and ratios."""
    n_bytes, n_words = max(row.n_bytes for row in rows), sum(len(text.split()) for text in texts)
    load = ", ".join(f"{value:.1f}" for value in os.getloadavg())
    print(
        f"{n_bytes / 1e6:.1f} MB, {n_words:,} white-space words, {threads} threads, {len(rounds)} rounds, load {load}"
    )
    sizes = {row.name: row.n_bytes for row in rows}
    for row in rows:
        if row.prepare is None:
            print(f"{row.name:42s} not installed; pip install 'hashbench[bench]'")
            continue
        middle = statistics.median(times[row.name] for times in rounds)
        line = f"{row.name:42s} {middle:7.3f} s {row.n_bytes / middle / 1e6:7.1f} MB/s"
        rate, peer, goal = GOALS.get(row.name, (0, WARM if "half" in row.name else COLD, 0))
        if peer in rounds[0] and peer != row.name:
            ratios = [times[peer] / times[row.name] * row.n_bytes / sizes[peer] for times in rounds]
            line += f" {statistics.median(ratios):6.2f} x {peer} ({min(ratios):.2f} to {max(ratios):.2f})"
        goals = f"; goals {rate} MB/s and {goal} x" if rate else ""
        print(f"{line}; leaves out: {row.leaves_out}{goals}")
    for ours, peer in PAIRS:
        if peer in rounds[0]:
            ratios = [times[peer] / sizes[peer] / times[ours] * sizes[ours] for times in rounds]
            spread = f"({min(ratios):.2f} to {max(ratios):.2f})"
            print(f"{ours} against {peer}: {statistics.median(ratios):.2f} {spread}")
        else:
            print(f"{ours} against {peer}: not installed")


if __name__ == "__main__":
    main()
