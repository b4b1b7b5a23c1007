"""A GPU, checked and measured, in one command.

    python benchmarks/gpu.py                   # the first GPU; about ten minutes
    python benchmarks/gpu.py --device cpu      # the same programs, small, to see that they run

1. Correctness: the tests marked `gpu` (losses, memory, bf16, compiled code beside the CPU), as in `make test-gpu`.
2. Pre-training, base, 512 tokens, bf16, compiled: tokens a second and the share of the card's published peak, for MLM
   and Shuffle + Random, beside transformers' BERT under the same torch.compile (benchmarks/pretraining.py).
3. Attention alone, of that shape: which kernel runs, and its rate.
4. Fine-tuning, tiny: examples a second beside transformers' Trainer (benchmarks/finetuning.py).

Before that it prints the versions of torch, CUDA and cuDNN, and where a cuDNN of the system was loaded in place of
torch's own, which changes the attention kernel without a word. The last lines say what holds: the tests, and at least
45 % of the peak for each objective. Exit code 1 where one does not.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

from hashbench.models.encoders.attention import attention
from hashbench.running.efficiency.timing import timed_ms

FOLDER = Path(__file__).resolve().parent
WANTED = 45.0  # % of the published peak
# Published peaks in bf16 without sparsity, TFLOP/s, by a part of the name of a card.
PEAKS = {
    "a10": 125, "l4": 121, "rtx3090": 71, "rtx4090": 165, "l40s": 362, "a100": 312, "h100": 989, "h200": 989,
}  # fmt: skip
OURS = re.compile(r"^(\w+) +hashbench (\S+) .* ([\d.]+) % of peak$", re.MULTILINE)


def peak_of(name: str) -> float:
    """Published TFLOP/s in bf16 of the card that calls itself so; 0 where it is not known.

    >>> peak_of("NVIDIA H100 80GB HBM3"), peak_of("Quadro")
    (989.0, 0.0)
    """
    words = re.sub(r"[^a-z0-9]", "", name.lower())
    return next((float(peak) for key, peak in PEAKS.items() if key in words), 0.0)


def versions() -> str:
    """Versions of torch, CUDA and cuDNN as they are loaded, and a warning for a cuDNN that is not torch's own."""
    loaded = torch.backends.cudnn.version()  # loads it
    line = f"torch {torch.__version__}, CUDA {torch.version.cuda or 'none'}, cuDNN {loaded or 'none'}"
    maps = Path("/proc/self/maps")
    foreign = foreign_cudnn(maps.read_text(), Path(torch.__file__).parents[1]) if loaded and maps.exists() else []
    return "\n".join(
        [line, *(f"cuDNN of the system in place of torch's: {path}; see LD_LIBRARY_PATH" for path in foreign)]
    )


def foreign_cudnn(maps: str, packages: Path) -> list[str]:
    """Loaded libraries of cuDNN that lie outside the folder of torch's packages, by /proc/self/maps.

    >>> line = "7f00-7f01 r-xp 00000000 08:01 42   "
    >>> foreign_cudnn(f"{line}/v/nvidia/cudnn/lib/libcudnn.so.9", Path("/v"))
    []
    >>> foreign_cudnn(f"{line}/usr/lib/libcudnn_ops.so.9\\n{line}/usr/lib/libcuda.so.1", Path("/v"))
    ['/usr/lib/libcudnn_ops.so.9']
    """
    mapped = {fields[5] for line in maps.splitlines() if len(fields := line.split(maxsplit=5)) == 6}
    return sorted(path for path in mapped if "libcudnn" in path and not Path(path).is_relative_to(packages))


def attention_line(device: torch.device, batch: int, length: int) -> str:
    """The longest kernels of attention with dropout in bf16, forward and backward, and their rate in TFLOP/s."""
    heads, width = 12, 64  # of base
    qkv = torch.randn(batch, length, 3, heads, width, device=device, dtype=torch.bfloat16, requires_grad=True)

    def work() -> None:
        # A view of one product's output, as the encoder has it
        attention(*qkv.permute(2, 0, 3, 1, 4), None, 0.1).sum().backward()

    activities = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if device.type == "cuda" else [])]
    work()  # a warm-up
    with profile(activities=activities) as profiled:
        work()
    ms = statistics.median(timed_ms(work, device) for _ in range(9))
    on_device = [event for event in profiled.key_averages() if str(event.device_type).lower().endswith("cuda")]
    longest = sorted(on_device, key=lambda event: -event.self_device_time_total)[:3]
    names = ", ".join(f"{event.key} {event.self_device_time_total / 1000:.2f} ms" for event in longest)
    products = 4 * batch * heads * length**2 * width  # of the forward pass; the backward pass has 2.5 times as many
    return f"attention {3.5 * products / ms / 1e9:8.3g} TFLOP/s  {names or 'of a CPU: no kernels'}"


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
    print(f"{name}, published peak in bf16: {f'{peak:g} TFLOP/s' if peak else 'not known'}\n{versions()}")
    print(attention_line(torch.device(options.device), *((options.batch, 512) if on_gpu else (2, 64))), flush=True)
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
