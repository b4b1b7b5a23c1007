"""What many experiments and many rows cost: CPU seconds of `list` and `status`, memory of a training.

    python benchmarks/size.py list --experiments 5000
    python benchmarks/size.py train --rows 1000000

`list`: a database of experiments with 13 runs each and a stored config of 8 KB. CPU seconds are of the whole process
with its imports, the smallest of three. `train`: a task of that many rows of 100 characters in CSV is trained for a few
steps, in a process of its own; its anonymous memory (RssAnon) is sampled each second, and compared with that of the
same training on the first 1,000 of these rows.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import sqlalchemy as sa

from hashbench.store.engine import insert_rows, open_store
from hashbench.store.schema import experiment, experiment_run, run

MODELS = ("bert-mlm", "hashformer-md-proj", "hashformer-lsh-proj", "eelbert")
TASKS = ("cola", "rte", "sst2")
CONFIG_BYTES = 8000
WORDS = 40_000  # distinct ones in the generated texts
FIRST = 1000  # rows of the training that the other is compared with
EXPERIMENT = """
name: size
encoder: tiny
models: [{name: hashed, like: hash-emb-k2-sum, objective: none}]
baseline: hashed
tasks: [{name: large, path: large, text: text, label: label}]
floors: []
seeds: [0]
finetune: {steps: 40, batch_size: 16, max_length: 32, learning_rate: 1.0e-3, evaluations: 1}
workers: 1
threads: 1
"""


def main() -> None:
    """Prints one line a figure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=("list", "train"))
    parser.add_argument("--experiments", type=int, default=5000)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="make the files in this folder, and leave them there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = options.keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        if options.what == "list":
            db = folder / f"{options.experiments}.db"
            if not db.exists():
                fill(db, options.experiments)
            for command in (["list"], ["status", "experiment 7"]):
                print(
                    f"{' '.join(command)}: {min(cpu_seconds([*command, '--db', str(db)]) for _ in range(3)):.2f} CPU s"
                )
        else:
            measure_training(folder, options.rows)


def fill(db: Path, n: int) -> None:
    """Makes a database of n experiments, each with its own 12 fine-tunings and one baseline, none of them done."""
    store = open_store(db)
    config = json.dumps({"name": "x", "provenance": {"text": "x" * CONFIG_BYTES}})
    kinds = [("finetune", model, task) for model in MODELS for task in TASKS] + [("floor", "majority", "rte")]
    runs, members, experiments = [], [], []
    for number in range(n):
        name = {"id": number + 1, "name": f"experiment {number}", "fingerprint": str(number), "baseline": MODELS[0]}
        experiments.append(name | {"config": config, "command": "sweep", "created_at": number, "called_at": number})
        for position, (kind, model, task) in enumerate(kinds):
            identity = hashlib.sha256(f"{number} {position}".encode()).hexdigest()
            of_run = {"id": identity, "kind": kind, "model": model, "task": task, "encoder": "tiny", "created_at": 0.0}
            runs.append(of_run | {"spec": "{}", "seed": 0})
            of_member = {"experiment_id": number + 1, "run_id": identity, "model": model}
            members.append(of_member | {"position": position, "metric": "accuracy", "split": "validation"})
    with store.write() as connection:
        insert_rows(connection, sa.insert(experiment), experiments)
        insert_rows(connection, sa.insert(run), runs)
        insert_rows(connection, sa.insert(experiment_run), members)
    store.close()
    print(f"{n} experiments, {len(members)} members, {db.stat().st_size / 2**20:.0f} MiB", flush=True)


def cpu_seconds(arguments: list[str]) -> float:
    """CPU seconds of a command as a process of its own, in a home whose compiled programs are kept."""
    code = (
        "import resource, subprocess, sys; subprocess.run([sys.executable, '-m', 'hashbench', *sys.argv[1:]],"
        " stdout=subprocess.DEVNULL, check=True); used = resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(used.ru_utime + used.ru_stime)"
    )
    keeps = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    keeps |= {"PYTHONPYCACHEPREFIX": str(Path(tempfile.gettempdir()) / f"size-{os.getpid()}")}
    called = [sys.executable, "-c", code, *arguments]
    return float(subprocess.run(called, capture_output=True, text=True, check=True, env=keeps).stdout)


def measure_training(folder: Path, rows: int) -> None:
    """Trains on the first rows, then on all of them; prints the largest anonymous memory of a process of each."""
    peaks = []
    for n in (FIRST, rows):
        place = folder / str(n)
        write_task(place, n)
        peaks.append(peak_of_sweep(place))
        print(f"{n:,} rows: RssAnon at most {peaks[-1]:.0f} MB", flush=True)
    print(f"{rows:,} rows take {peaks[1] - peaks[0]:.0f} MB more than {FIRST:,}")


def write_task(place: Path, n: int) -> None:
    """Writes an experiment and its task: n rows of about 100 characters, and a validation split of FIRST rows."""
    (place / "large").mkdir(parents=True, exist_ok=True)
    (place / "size.yaml").write_text(EXPERIMENT)
    random = np.random.RandomState(0)
    words = np.array([f"w{number:x}" + "e" * (number % 5) for number in range(WORDS)])
    for split, size in (("train", n), ("validation", FIRST)):
        with (place / "large" / f"{split}.csv").open("w", newline="") as file:
            lines = csv.writer(file)
            lines.writerow(["text", "label"])
            for drawn in np.array_split(random.zipf(1.3, (size, 16)) % WORDS, -(-size // 10_000)):
                lines.writerows(
                    [f"{place.name} " + " ".join(words[row]), "even odd".split()[row[0] % 2]] for row in drawn
                )


def peak_of_sweep(place: Path) -> float:
    """Megabytes: the largest RssAnon of one process of a sweep, sampled each second."""
    with tempfile.TemporaryDirectory(dir=place) as cache:
        keeps = os.environ | {"HASHBENCH_CACHE": cache, "PYTHONPATH": str(Path(__file__).parents[1])}
        command = [sys.executable, "-m", "hashbench", "sweep", "size.yaml", "--db", f"{cache}/size.db"]
        sweep = subprocess.Popen(command, cwd=place, env=keeps, stdout=subprocess.DEVNULL)
        peak = 0.0
        while sweep.poll() is None:
            peak = max([peak, *map(anonymous, family(sweep.pid))])
            time.sleep(1.0)
        assert sweep.returncode == 0
    return peak


def family(pid: int) -> Iterator[int]:
    """A process and all that descend from it."""
    yield pid
    for children in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from family(int(child))


def anonymous(pid: int) -> float:
    """Megabytes of memory of a process that are in no file; 0 where it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in lines if line.startswith("RssAnon")), 0.0)


if __name__ == "__main__":
    main()
