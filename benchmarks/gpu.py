"""A GPU, checked and measured, in one command.

    python benchmarks/gpu.py                   # the first GPU; about ten minutes
    python benchmarks/gpu.py --device cpu      # the same programs, small, to see that they run

1. Correctness: the tests marked `gpu` (losses, memory, bf16, compiled code beside the CPU), as in `make test-gpu`.
2. Pre-training, base, 512 tokens, bf16, compiled: tokens a second and the share of the card's published peak, for MLM
   and Shuffle + Random, beside transformers' BERT under the same torch.compile (benchmarks/pretraining.py).
3. Fine-tuning, tiny: examples a second beside transformers' Trainer (benchmarks/finetuning.py).

The last lines say what holds: the tests, and at least 45 % of the peak for each objective. Exit code 1 where one does
not.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from pathlib import Path

import torch

from hashbench.running.efficiency.cards import CARDS

FOLDER = Path(__file__).resolve().parent
WANTED = 45.0  # % of the published peak
OURS = re.compile(r"^(\w+) +hashbench (\S+) .* ([\d.]+) % of peak$", re.MULTILINE)


def peak_of(name: str) -> float:
    """Published TFLOP/s in bf16 of the card that calls itself so; 0 where it is not known.

    >>> peak_of("NVIDIA H100 80GB HBM3"), peak_of("Quadro")
    (989.0, 0.0)
    """
    words = re.sub(r"[^a-z0-9]", "", name.lower())
    known = [card for key, card in CARDS.items() if key.partition("-")[0] in words and card.bf16]
    return (known[0].bf16 or 0.0) / 1e12 if known else 0.0


def run(*arguments: str) -> tuple[int, str]:
    """Runs a Python program, shows what it prints, and gives back its exit code and that."""
    print(f"\n$ python {' '.join(arguments)}", flush=True)
    process = subprocess.Popen(
        [sys.executable, *arguments], cwd=FOLDER.parent, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    lines = []
    for line in process.stdout:
        print(line, end="", flush=True)
        lines.append(line)
    return process.wait(), "".join(lines)


def verdicts(tests: int, pretraining: str) -> list[tuple[str, bool | None]]:
    """What holds; None where it could not be told."""
    shares = [(f"{objective} {name}", float(share)) for objective, name, share in OURS.findall(pretraining)]
    found: list[tuple[str, bool | None]] = [("the tests of this device pass", tests == 0)]
    found += [(f"{what}: {share:.1f} % of the peak, wanted {WANTED:.0f} %", share >= WANTED) for what, share in shares]
    return found if shares else [*found, ("share of the peak: not known, give --peak", None)]


def main() -> int:
    """Tests, measures and prints what holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--batch", type=int, default=64, help="sequences of a pre-training step")
    parser.add_argument("--peak", type=float, default=None, help="TFLOP/s in bf16; by default of the data sheet")
    parser.add_argument("--data", default="builtin", help="a folder with glue/sst2, or builtin")
    options = parser.parse_args()
    on_gpu = options.device == "cuda"
    if on_gpu and not torch.cuda.is_available():
        print(
            "gpu.py: torch finds no CUDA device here; install a CUDA build of torch, or try --device cpu",
            file=sys.stderr,
        )
        return 2
    name = torch.cuda.get_device_name(0) if on_gpu else "CPU"
    peak = options.peak if options.peak is not None else peak_of(name)
    print(f"{name}, torch {torch.__version__}, published peak in bf16: {f'{peak:g} TFLOP/s' if peak else 'not known'}")
    marked = ["-m", "gpu"] if on_gpu else []
    tests, _ = run("-m", "pytest", "-q", "-rs", *marked, "tests/running/training/test_devices.py")
    shape = (
        ["--size", "base", "--batch", str(options.batch), "--length", "512", "--steps", "10", "--compile"]
        if on_gpu
        else ["--size", "tiny", "--batch", "4", "--length", "64", "--steps", "2", "--rounds", "1"]
    )
    device = ["--device", options.device]
    failed, printed = run("benchmarks/pretraining.py", *shape, *device, "--precision", "bf16", "--peak", f"{peak:g}")
    few = [] if on_gpu else ["--examples", "128", "--rounds", "1"]
    failed_too, _ = run("benchmarks/finetuning.py", *device, "--data", options.data, *few)
    print()
    found = [*verdicts(tests, printed), ("both benchmarks ran", not failed and not failed_too)]
    for words, holds in found:
        print(f"{ {True: 'holds', False: 'FAILS', None: '?    '}[holds] }  {words}")
    return int(any(holds is False for _, holds in found))


if __name__ == "__main__":
    sys.exit(main())
