"""Types to codes: types a second of each coder, against its definition in plain Python and against rows by MD5.

    python benchmarks/types_to_codes.py --data FOLDER                # FOLDER/corpora/wikipedia/*.parquet
    python benchmarks/types_to_codes.py --data FOLDER --megabytes 2 --sample 50

The types are the words of the head of a corpus. The definition is the one that the tests compare the coder with:
integers, one product at a time; it gets a seeded sample of the same types, since it is slow. Ours codes all of them, on
all cores that the process may use (HASHBENCH_THREADS limits them), without compilation. The coder, its definition and
the coder `md5-rows` take turns; medians of rounds are printed, and the ratios are medians of those within a round. A
coder of one pass hashes a word once; the others hash each of its n-grams, trigrams or features.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # for tests.oracles

from benchmarks.text_to_codes import read_texts  # noqa: E402
from hashbench.models.coders.base import (
    Coder,  # noqa: E402
    make_coder,  # noqa: E402
)
from hashbench.models.coders.ngram_pooling import NgramPooling  # noqa: E402
from hashbench.models.text.compiled import thread_count  # noqa: E402
from hashbench.models.text.types import TypeTable  # noqa: E402
from hashbench.models.text.words import WordTokenizer  # noqa: E402
from tests.models.coders import test_byte_ngrams, test_ngram_buckets, test_trigrams, test_word_bytes  # noqa: E402
from tests.models.coders import test_word_features as features  # noqa: E402
from tests.oracles import hashes, keys, ternary  # noqa: E402
from tests.oracles import ngram_pooling as plain  # noqa: E402

GOAL, POOLING_GOAL = 20.0, 50.0  # times the definition
MD5_GOAL = 2.0  # times the time of rows by MD5, of coders of one pass


@dataclass(frozen=True)
class Contest:
    """A coder and its definition, type by type."""

    name: str
    coder: Coder
    definition: Callable[[str], object]
    goal: float | None = GOAL  # None: its definition is one call of a compiled library
    one_pass: bool = False


def contests() -> list[Contest]:
    """The coders of all families that hash words, and EELBERT's at the widths of tiny and base."""
    found = [
        Contest("md5-rows", make_coder("md5-rows"), md5_row, None, one_pass=True),
        Contest("word-keys", make_coder("word-keys"), keys.key, None, one_pass=True),
        Contest("hash-rows, k = 2", make_coder("hash-rows"), partial(hash_rows, k=2), one_pass=True),
        Contest("hash-rows, k = 4", make_coder("hash-rows", hashes=4), partial(hash_rows, k=4), one_pass=True),
        Contest("word-bytes", make_coder("word-bytes"), test_word_bytes.slowly, None, one_pass=True),
    ]
    for hash, numbers in (("murmur", ternary.murmur), ("xfixhash8", partial(ternary.xfix, bits=8))):
        definition = partial(ternary_numbers, numbers=numbers)
        coder = make_coder("ternary-projection", hash=hash)
        found.append(Contest(f"ternary-projection, hash {hash}", coder, definition, one_pass=hash == "murmur"))
    by_features = partial(features.slowly, features=list(features.FEATURES), buckets=5_000, hashes=4, signs=0)
    found.append(Contest("word-features", make_coder("word-features"), by_features))
    for name, slowly, arguments in (
        ("ngram-buckets", test_ngram_buckets.slowly, {"hashes": 2}),
        ("ngram-buckets", test_ngram_buckets.slowly, {"hash": "fnv", "word": False}),
        ("trigrams", test_trigrams.slowly, {"num_buckets": 1_000, "hashes": 4}),
        ("trigrams", test_trigrams.slowly, {"num_buckets": 8_000, "hashes": 10, "lowercase_rows": 2}),
        ("byte-ngrams", test_byte_ngrams.slowly, {}),
    ):
        coder = make_coder(name, **arguments)
        shown = ", ".join(f"{key} {value}" for key, value in list(arguments.items())[-2:])
        found.append(Contest(f"{name}, {shown}" if shown else name, coder, partial(slowly, coder=coder)))
    for dim in (128, 768):
        coder = NgramPooling(dim)
        h, parts = plain.seeds(coder.seed, dim), list(coder.partition)
        definition = partial(plain.vector, h=h, parts=parts)
        found.append(Contest(f"ngram-pooling, d = {dim}", coder, definition, POOLING_GOAL))
    return found


def md5_row(word: str) -> int:
    """A row of 50,260 by MD5, special tokens before them."""
    return 5 + hashes.md5_number(word) % 50_260


def ternary_numbers(word: str, numbers: Callable[..., list[int]]) -> list[int]:
    """The 16 numbers of 64 bits that hold 512 features."""
    return numbers(word.encode(), 8)


def hash_rows(word: str, k: int) -> list[int]:
    """D1 and the rows of a pool of 1,000."""
    x = keys.key(word)
    return [keys.hashed(x, 0) % 50_000, *(keys.hashed(x, i + 1) % 1_000 for i in range(k))]


def seconds(work: Callable[[], object], clock: Callable[[], float]) -> float:
    """Time of one call."""
    began = clock()
    work()
    return clock() - began


def define(definition: Callable[[str], object], types: Sequence[str]) -> None:
    """The definition of each type."""
    for each in types:
        definition(each)


def run(contest: Contest, table: TypeTable, sample: Sequence[str], rounds: int, clock: Callable[[], float]) -> None:
    """Measures one contest and prints its line."""
    md5 = make_coder("md5-rows")
    interner = WordTokenizer().interner()
    interner.add([" ".join(sample)])
    few, _ = interner.finish()
    for coder in (contest.coder, md5):
        coder.encode_types(few)  # compiles
    ours, theirs, rows = [], [], []
    for _ in range(rounds):
        ours.append(len(table) / seconds(partial(contest.coder.encode_types, table), clock))
        theirs.append(len(sample) / seconds(partial(define, contest.definition, sample), clock))
        rows.append(len(table) / seconds(partial(md5.encode_types, table), clock))
    ratios = [own / its for own, its in zip(ours, theirs, strict=True)]
    spread = f"{statistics.median(ratios):6.1f} x ({min(ratios):.1f} to {max(ratios):.1f})"
    to_md5 = statistics.median(its / own for own, its in zip(ours, rows, strict=True))
    speeds = f"{statistics.median(ours):12,.0f} types/s  {statistics.median(theirs):8,.0f} in plain Python"
    least = f"goal: {contest.goal:.0f}" if contest.goal else "a library's call"
    most = f" (goal: at most {MD5_GOAL:g})" if contest.one_pass else ""
    print(f"{contest.name:38s} {speeds}  {spread}; {least}, {to_md5:6.2f} MD5 rows{most}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--megabytes", type=float, default=20.0, help="of text")
    parser.add_argument("--sample", type=int, default=300, help="types for the definition")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", action="store_true", help="CPU time, for a busy machine; with HASHBENCH_THREADS=1")
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder with --data")
    interner = WordTokenizer().interner()
    interner.add(read_texts(options.data, int(options.megabytes * 1e6)))
    table, _ = interner.finish()
    chosen = random.Random(0).sample(range(len(table)), min(options.sample, len(table)))
    sample = table.strings(chosen)
    print(f"{len(table):,} types, {thread_count()} threads, {options.rounds} rounds; {len(sample)} for the definition")
    for contest in contests():
        run(contest, table, sample, options.rounds, time.process_time if options.cpu else time.perf_counter)


if __name__ == "__main__":
    main()
