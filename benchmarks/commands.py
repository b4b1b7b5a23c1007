"""CPU seconds and memory of commands that read results, each a process of its own: medians of several.

    python benchmarks/commands.py --db results.db.example
    python benchmarks/commands.py --db results.db.example --folder my-model     # also predictions of an exported model

Each command runs once unmeasured, since Python compiles a program when it is started first.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMMANDS = (
    ["report", "glue_tiny"],
    ["report", "claims", "glue_tiny"],
    ["compare", "glue_tiny", "pretraining_tiny"],
    ["plot", "--experiment", "glue_tiny", "--output", "figures"],
)
TEXT = "a gripping film"


def main() -> None:
    """Prints a line a command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--db", type=Path, default=Path("results.db.example"))
    parser.add_argument("--folder", type=Path, help="an exported model, with onnx/ if it has a graph")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    lines = [[*command, "--db", str(options.db.resolve())] for command in COMMANDS]
    if options.folder is not None:
        folders = [folder for folder in (options.folder, options.folder / "onnx") if folder.is_dir()]
        lines += [["predict", str(folder.resolve()), TEXT] for folder in folders]
    with tempfile.TemporaryDirectory() as folder:
        for line in lines:
            measured = [measure(line, Path(folder)) for _ in range(options.rounds + 1)][1:]
            seconds, mib = [cpu for cpu, _ in measured], max(peak for _, peak in measured)
            spread = f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
            print(f"{' '.join(line)}: CPU {spread}, peak {mib:.0f} MiB", flush=True)
    print(f"load {os.getloadavg()[0]:.1f}")


def measure(line: list[str], folder: Path) -> tuple[float, float]:
    """(CPU seconds, peak MiB) of one process of the program, which writes into a folder."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment |= {"PYTHONPYCACHEPREFIX": str(folder / "bytecode")}
    started = subprocess.Popen(
        [sys.executable, "-m", "hashbench", *line], cwd=folder, env=environment, stdout=subprocess.DEVNULL
    )
    _, status, used = os.wait4(started.pid, 0)
    if status:
        raise SystemExit(f"{' '.join(line)}: exit {os.waitstatus_to_exitcode(status)}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


if __name__ == "__main__":
    main()
