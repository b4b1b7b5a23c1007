"""`hashbench data prepare` on a synthetic corpus: words a second, memory of all its processes, and kills.

    python benchmarks/preparing.py --folder /tmp/corpora --characters 150_000_000 --types 600_000 --cores 1 2 --kills 5
    python benchmarks/preparing.py --folder /tmp/corpora --characters 60_000_000 --types 5_000_000 --distinct
    python benchmarks/preparing.py --folder /tmp/corpora --full --remove

The folder gets the corpus, caches and nothing else; --remove takes it away at the end. A prepared corpus goes as soon
as it was measured, so that the disk holds the texts and one of them; where there is no room for these nothing is begun.
--full: 1.5 thousand million characters of 6 million types on one core and on two, five kills, and then 50 million types
that come about once each. Words of rank r come about once
in r (Zipf), or, with --distinct, about once each. Memory is the sum over all processes of what is theirs (PSS, shared
pages by halves), and the largest process alone, both sampled every 0.2 s.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILES = 12
DISK_EVERY_S = 5.0
DISK = 4.0  # bytes a character at most: texts, and a corpus in the making beside its finished shards
FULL = {"characters": 1_500_000_000, "types": 6_000_000, "cores": [1, 2], "kills": 5}
MOST_TYPES = {"characters": 400_000_000, "types": 50_000_000, "distinct": True, "cores": [2], "kills": 0}
WORDS_OF_A_DOCUMENT = 1_000
LETTERS = np.frombuffer(b"etaoinshrdlucmfwypvbgkjqxz", np.uint8)
EXPERIMENT = """\
name: preparing
data: {folder}
encoder: tiny
models: [hashformer-md-proj]
baseline: hashformer-md-proj
tasks: []
pretrain: {{corpora: [synthetic], steps: 10}}
"""


@dataclass(frozen=True)
class Measured:
    """One call of the command."""

    seconds: float
    cpu: float
    together: float  # GB, largest sum over its processes
    largest: float  # GB, of one process
    disk: float  # GB, largest size of its cache
    killed: bool


def spelled(ranks: np.ndarray) -> list[str]:
    """Words for ranks (n,): their digits in base 26, so that frequent ones are short; at least three letters."""
    numbers = ranks + 26**2
    letters = np.zeros((len(ranks), 7), np.uint8)
    left = numbers.copy()
    for column in range(6, -1, -1):
        letters[:, column] = np.where(left > 0, LETTERS[left % 26], 32)
        left //= 26
    return letters.view("S7").ravel().astype(str).tolist()


def write_corpus(folder: Path, characters: int, types: int, distinct: bool) -> None:
    """Twelve parquet files of documents of a thousand words."""
    folder.mkdir(parents=True)
    generator = np.random.default_rng(0)
    written, number, seen = 0, 0, 0
    for file in range(FILES):
        with pq.ParquetWriter(folder / f"{file:02}.parquet", pa.schema([("text", pa.string())])) as writer:
            while written < characters * (file + 1) / FILES:
                n = 100 * WORDS_OF_A_DOCUMENT
                if distinct:
                    ranks = np.arange(seen, seen + n) % types
                    seen += n
                else:
                    ranks = np.exp(generator.random(n) * np.log(types)).astype(np.int64)
                words = spelled(ranks)
                texts = [
                    " ".join(word.strip() for word in words[at : at + WORDS_OF_A_DOCUMENT])
                    for at in range(0, n, WORDS_OF_A_DOCUMENT)
                ]
                writer.write_table(pa.table({"text": texts}))
                written += sum(map(len, texts))
                number += len(texts)
    print(f"corpus: {written:,} characters in {number:,} documents", flush=True)


def processes_of(parent: int) -> list[int]:
    """A process and all that it began."""
    found = [parent]
    for pid in found:
        try:
            for task in Path(f"/proc/{pid}/task").iterdir():
                found += [int(child) for child in (task / "children").read_text().split()]
        except OSError:
            continue
    return found


def memory_of(pid: int) -> float:
    """PSS of a process in GB; 0 where it has ended."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) / 1e6
    except OSError:
        pass
    return 0.0


def size_of(folder: Path) -> float:
    """GB of all files in a folder."""
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:  # it has just gone
            continue
    return total / 1e9


def call(folder: Path, cache: str, cores: int, kill_after: float | None = None) -> Measured:
    """Runs the command on so many cores; kills it, and it alone, after so many seconds."""
    environment = os.environ | {"HASHBENCH_CACHE": str(folder / cache), "HASHBENCH_THREADS": str(cores)}
    before = os.times()
    began = time.monotonic()
    command = [sys.executable, "-m", "hashbench", "data", "prepare", str(folder / "experiment.yaml")]
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
    together = largest = disk = looked = 0.0
    killed = False
    while process.poll() is None:
        if time.monotonic() - looked > DISK_EVERY_S:
            looked = time.monotonic()
            disk = max(disk, size_of(folder / cache))
        each = [memory_of(pid) for pid in processes_of(process.pid)]
        together, largest = max(together, sum(each)), max(largest, max(each))
        if kill_after is not None and not killed and time.monotonic() - began > kill_after:
            process.kill()
            killed = True
        time.sleep(0.2)
    after = os.times()
    if process.returncode and not killed:
        sys.exit(f"the command ended with {process.returncode}")
    cpu = after.children_user + after.children_system - before.children_user - before.children_system
    return Measured(time.monotonic() - began, cpu, together, largest, disk, killed)


def outcome(folder: Path, cache: str) -> dict[str, object]:
    """What the manifest says."""
    (manifest,) = (folder / cache / "corpora").glob("*/manifest.json")
    found = json.loads(manifest.read_text())
    types = json.loads((manifest.parent / "types" / "types.json").read_text())["fingerprint"]
    return {"sha256": found["sha256"], "types": found["types"], "tokens": found["tokens"], "table": types}


def refuse_small_disk(folder: Path, characters: int) -> None:
    """Ends the program where the disk has no room for texts and one prepared corpus."""
    needed, free = DISK * characters / 1e9, shutil.disk_usage(folder).free / 1e9
    print(f"disk: {free:.1f} GB free, {needed:.1f} GB needed", flush=True)
    if free < needed:
        sys.exit(f"{folder}: {needed - free:.1f} GB too few; give another --folder, or fewer --characters")


def measure(folder: Path, given: argparse.Namespace) -> None:
    """Prints one line for each number of cores, and one for what kills left."""
    folder.mkdir(parents=True, exist_ok=True)
    refuse_small_disk(folder, given.characters)
    if not (folder / "experiment.yaml").exists():
        write_corpus(folder / "corpora" / "synthetic", given.characters, given.types, given.distinct)
        (folder / "experiment.yaml").write_text(EXPERIMENT.format(folder=folder))
    found: dict[str, object] = {}
    for cores in given.cores:
        shutil.rmtree(folder / "cache", ignore_errors=True)
        measured = call(folder, "cache", cores)
        before, found = found, outcome(folder, "cache")
        print(
            f"{cores} cores: {measured.seconds:.1f} s, {measured.cpu:.1f} s of CPU, {found['tokens']:,} tokens of "
            f"{found['types']:,} types, {int(str(found['tokens'])) / measured.seconds:,.0f} a second; "
            f"{measured.together:.2f} GB together, {measured.largest:.2f} GB the largest, "
            f"{measured.disk:.2f} GB of disk; {found['sha256']}{'' if before in ({}, found) else ', ANOTHER RESULT'}",
            flush=True,
        )
    shutil.rmtree(folder / "cache")
    if given.kills:
        measure_kills(folder, given, measured.seconds, found)
    shutil.rmtree(folder / "cache", ignore_errors=True)
    if given.remove:
        shutil.rmtree(folder)


def measure_kills(folder: Path, given: argparse.Namespace, whole_s: float, expected: dict[str, object]) -> None:
    """Kills the command at random moments of its whole time, goes on each time, and compares what comes out."""
    generator = random.Random(given.seed)
    moments = sorted(generator.uniform(0.05, 0.95) * whole_s for _ in range(given.kills))
    killed = 0
    for before, moment in zip([0.0, *moments], moments, strict=False):  # finished shards are not made again
        harmed = call(folder, "cache", given.cores[-1], kill_after=moment - before)
        killed += harmed.killed
        print(f"kill {killed}: after {harmed.seconds:.1f} s" if harmed.killed else "done before its kill", flush=True)
    call(folder, "cache", given.cores[-1])
    same = outcome(folder, "cache") == expected
    print(f"after {killed} kills: {'the same' if same else 'ANOTHER RESULT'}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--characters", type=int, default=150_000_000)
    parser.add_argument("--types", type=int, default=600_000)
    parser.add_argument("--distinct", action="store_true")
    parser.add_argument("--cores", type=int, nargs="+", default=[2])
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--full", action="store_true", help="the two large corpora, one after the other")
    parser.add_argument("--remove", action="store_true")
    given = parser.parse_args()
    folder: Path = given.folder.absolute()
    for name, chosen in {"words": FULL, "types": MOST_TYPES}.items() if given.full else {"": {}}.items():
        measure(folder / name, argparse.Namespace(**vars(given) | chosen))


if __name__ == "__main__":
    main()
