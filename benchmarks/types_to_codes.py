"""Types to codes: types a second of a coder, against its definition in plain Python.

    python benchmarks/types_to_codes.py --data FOLDER                # FOLDER/corpora/wikipedia/*.parquet
    python benchmarks/types_to_codes.py --data FOLDER --megabytes 2 --sample 50

The types are the words of the head of a corpus. The definition is the one that the tests compare the coder with
(tests/oracles): integers, one product at a time; it gets a seeded sample of the same types, since it is slow. Ours
codes all of them, on all cores that the process may use (HASHBENCH_THREADS limits them), without compilation. The two
take turns; medians of rounds are printed, and the ratio is the median of the ratios within a round.
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
from hashbench.coders.base import Coder  # noqa: E402
from hashbench.coders.ngram_pooling import NgramPooling  # noqa: E402
from hashbench.text.compiled import thread_count  # noqa: E402
from hashbench.text.types import TypeTable  # noqa: E402
from hashbench.text.words import WordTokenizer  # noqa: E402
from tests.oracles import ngram_pooling as plain  # noqa: E402

GOAL = 50.0  # times the definition


@dataclass(frozen=True)
class Contest:
    """A coder and its definition, type by type."""

    name: str
    coder: Coder
    definition: Callable[[str], object]


def contests() -> list[Contest]:
    """EELBERT's n-gram pooling hash at the widths of tiny and base."""
    found = []
    for dim in (128, 768):
        coder = NgramPooling(dim)
        h, parts = plain.seeds(coder.seed, dim), list(coder.partition)
        found.append(Contest(f"ngram-pooling, d = {dim}", coder, partial(plain.vector, h=h, parts=parts)))
    return found


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of one call."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def define(definition: Callable[[str], object], types: Sequence[str]) -> None:
    """The definition of each type."""
    for each in types:
        definition(each)


def run(contest: Contest, table: TypeTable, sample: Sequence[str], rounds: int) -> None:
    """Measures one contest and prints its line."""
    contest.coder.encode(sample)  # compiles
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(len(table) / seconds(partial(contest.coder.encode_types, table)))
        theirs.append(len(sample) / seconds(partial(define, contest.definition, sample)))
    ratio = statistics.median(own / its for own, its in zip(ours, theirs, strict=True))
    speeds = f"{statistics.median(ours):12,.0f} types/s  {statistics.median(theirs):8,.0f} in plain Python"
    print(f"{contest.name:24s} {speeds}  {ratio:8.0f} x (goal: {GOAL:.0f} x)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--megabytes", type=float, default=20.0, help="of text")
    parser.add_argument("--sample", type=int, default=300, help="types for the definition")
    parser.add_argument("--rounds", type=int, default=3)
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
        run(contest, table, sample, options.rounds)


if __name__ == "__main__":
    main()
