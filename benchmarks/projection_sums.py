"""Types to projected sums: types a second of the coder of ProFormer, against its definition in plain Python.

    python benchmarks/projection_sums.py --data FOLDER               # words of FOLDER/corpora/wikipedia/*.parquet
    python benchmarks/projection_sums.py --data FOLDER --megabytes 5 --rounds 5

Ours makes the 3 x 420 sums of every type of the texts. The peer is tests/oracles/proformer.py, which shares no code
with the suite, on a random sample of the same types. Not timed on either side: reading, splitting into words,
compilation. Contestants take turns; medians of rounds are printed, and the ratio is the median of the ratios within a
round. Ours uses the threads of HASHBENCH_THREADS, one unless it is set; the peer has one.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # for tests.oracles, behind an installed hashbench

from benchmarks.text_to_codes import read_texts  # noqa: E402
from hashbench.models.coders.projection import ProjectionCoder  # noqa: E402
from hashbench.models.text.compiled import thread_count  # noqa: E402
from hashbench.models.text.types import TypeTable  # noqa: E402
from hashbench.models.text.words import WordTokenizer  # noqa: E402
from tests.oracles import proformer as oracle  # noqa: E402

GOAL = 50.0  # times the peer
PLACES = range(3)
SAMPLE = 200  # types that the peer gets a round


def types_of(texts: list[str]) -> TypeTable:
    """The distinct words of the texts."""
    interner = WordTokenizer().interner()
    interner.add(texts)
    return interner.finish()[0]


def ours_per_second(types: TypeTable) -> float:
    """Types a second of the coder over the whole table."""
    coder = ProjectionCoder()
    start = time.process_time()
    coder.encode_types(types)
    return len(types) / (time.process_time() - start)


def peer_per_second(sample: list[str]) -> float:
    """Types a second of the definition."""
    start = time.process_time()
    for word in sample:
        for place in PLACES:
            oracle.sums(word, place)
    return len(sample) / (time.process_time() - start)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HASHBENCH_TEST_DATA"), help="data folder")
    parser.add_argument("--megabytes", type=float, default=10.0, help="of text")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if options.data is None:
        parser.error("name the data folder with --data")
    os.environ.setdefault("HASHBENCH_THREADS", "1")
    types = types_of(read_texts(options.data, int(options.megabytes * 1e6)))
    strings = types.strings()
    ProjectionCoder().encode(strings[:10])  # compiles
    draw = random.Random(0)
    rounds = []
    for _ in range(options.rounds):
        rounds.append((ours_per_second(types), peer_per_second(draw.sample(strings, min(SAMPLE, len(strings))))))
    ratios = [ours / peer for ours, peer in rounds]
    spread = f"({min(ratios):.0f} to {max(ratios):.0f})"
    print(f"{len(types):,} types, {thread_count()} thread(s), {options.rounds} rounds")
    print(f"plain Python   {statistics.median(peer for _, peer in rounds):12,.0f} types/s")
    print(f"coder          {statistics.median(ours for ours, _ in rounds):12,.0f} types/s")
    print(f"ratio          {statistics.median(ratios):12.1f} x the peer {spread} (goal: {GOAL:.0f} x)")


if __name__ == "__main__":
    main()
