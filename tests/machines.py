"""`make test-machines`: the tests that compute, as other processors would compute them.

    python tests/machines.py                      every setting, one after the other; 1 if a test fails in one
    python tests/machines.py --only rounding      the settings whose name contains it
    python tests/machines.py -- tests/models -x   other tests or options of pytest

Two different computations of one number, such as a matrix product of a batch and of one row, agree within rounding
alone, and whether they agree bit for bit depends on the processor. The settings make the libraries choose the code that
they would choose elsewhere. Not every processor follows them (MKL reads its own only on Intel's), so the setting
`rounding` adds one that does not exist: its sums are taken in an order that depends on the shape. A test that asserts
equality bit for bit where the same computation is not done twice fails there, on every machine.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROUNDING = "HASHBENCH_TEST_ROUNDING"
# Each a processor: what MKL, ATen, oneDNN, OpenBLAS and numpy choose for its vector units, and its number of threads.
SETTINGS: dict[str, dict[str, str]] = {
    "rounding": {ROUNDING: "shape"},
    "sse": {
        "MKL_ENABLE_INSTRUCTIONS": "SSE4_2", "ATEN_CPU_CAPABILITY": "default", "ONEDNN_MAX_CPU_ISA": "SSE41",
        "OPENBLAS_CORETYPE": "Nehalem", "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "OMP_NUM_THREADS": "1",
    },
    "avx2": {
        "MKL_ENABLE_INSTRUCTIONS": "AVX2", "ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2",
        "OPENBLAS_CORETYPE": "Haswell", "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
        "OMP_NUM_THREADS": "2",
    },
    "avx512": {"MKL_ENABLE_INSTRUCTIONS": "AVX512", "OMP_NUM_THREADS": "4"},
    "compatible": {"MKL_CBWR": "COMPATIBLE", "OMP_NUM_THREADS": "1"},
}  # fmt: skip
COMPUTES = re.compile(r"^\s*(?:import|from) (?:torch|numpy)\b", re.MULTILINE)
# They start processes of their own, which compute as the machine does; what they compute is tested elsewhere too.
PROCESSES = ("tests/cli", "tests/hub", "tests/running/sweep", "tests/results/dashboard", "tests/common")


def computing_tests() -> list[str]:
    """The test files that import torch or numpy, without those that start commands."""
    files = (file.relative_to(ROOT) for file in sorted((ROOT / "tests").rglob("test_*.py")))
    return [
        str(file)
        for file in files
        if not str(file).startswith(PROCESSES) and COMPUTES.search((ROOT / file).read_text("utf-8"))
    ]


def round_by_shape() -> None:
    """From now on, in this process, sums of matrix products are taken in two parts, cut where their shape says.

    Exact values, such as small whole numbers, stay exact, and the same product gives the same bits each time.
    """
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    aten, plain = torch.ops.aten, (torch.Tensor, torch.nn.Parameter)

    def in_parts(product: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        inner, rows = left.shape[-1], left.shape[-2]
        if left.dtype != torch.float32 or inner < 2 or rows < 2:
            return product(left, right)
        cut = 1 + rows % (inner - 1)
        ends = product(left[..., :cut], right[..., :cut, :]), product(left[..., cut:], right[..., cut:, :])
        return ends[0] + ends[1]

    class RoundByShape(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            options = kwargs or {}
            if any(isinstance(argument, torch.Tensor) and type(argument) not in plain for argument in args):
                return func(*args, **options)  # traced, as for ONNX: nothing is computed
            if func in (aten.mm.default, aten.bmm.default) and not options:
                return in_parts(func, *args)
            if func is aten.addmm.default and not options:
                return args[0] + in_parts(aten.mm.default, args[1], args[2])
            if func is aten.baddbmm.default and not options:
                return args[0] + in_parts(aten.bmm.default, args[1], args[2])
            if func in (aten.linear.default, aten.matmul.default):  # whole in inference mode alone
                with self:
                    return func.decompose(*args, **options)
            return func(*args, **options)

    RoundByShape().__enter__()


def outcomes(only: str, options: list[str]) -> Iterator[tuple[str, bool]]:
    """Each setting with whether all tests passed in it."""
    for name, setting in SETTINGS.items():
        if only not in name:
            continue
        print(f"== {name}: {' '.join(f'{key}={value}' for key, value in setting.items())}", flush=True)
        command = [sys.executable, "-m", "pytest", "-q", *options]
        yield name, subprocess.run(command, cwd=ROOT, env=os.environ | setting).returncode == 0


def main() -> int:
    """Runs the settings; 1 if a test failed in one of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="the settings whose name contains this")
    parser.add_argument("options", nargs="*", help="tests and options of pytest, behind --")
    arguments = parser.parse_args()
    options = arguments.options
    if not any((ROOT / option.partition("::")[0]).exists() for option in options):  # names no tests
        options = [*options, *computing_tests()]
    ended = dict(outcomes(arguments.only, options))
    red = [name for name, passed in ended.items() if not passed]
    print(
        f"{len(ended)} settings, {len(red)} with a failed test: {', '.join(red)}"
        if red
        else f"{len(ended)} settings, 0 failed"
    )
    return 1 if red else 0


if __name__ == "__main__":
    sys.exit(main())
