"""`make mutants`: small faults put into the code one at a time, and whether the tests of the changed file catch each.

A fault changes one operator, one small number or one truth value of a line. `tests/faults.json` has 231 of them, drawn
by seed over all folders and stored by the text of the line and the name of its function, so that they outlive a move
to another file. Each is applied in a copy of the checkout, where the tests of the file run: `tests/ROOM/test_FILE.py`,
those that `tests/covered_by.txt` names for it, those of the room that import it, and its docstrings' examples. The
tests that failed are run once more at the end without any fault. Exit code 1 if one fails then too, or if a fault
survives that was caught when it was stored.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FAULTS = ROOT / "tests" / "faults.json"
SEED = 16
MARKED = "not slow and not gpu"
LIMIT_S = 600  # a fault that makes the tests hang is caught
HANGS = "(a hang or a crash)"  # in place of the name of a test
ALSO_NEEDED = ("analysis", "benchmarks", "experiments", "pyproject.toml", "results.db.example", "README.md", "docs")
SWAPS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.Div: ("/", "*"), ast.Mod: ("%", "//"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """One changed line of a function."""

    function: str  # or class that the line is in; "" for a module's own statement
    before: str  # the line, without its indentation
    after: str
    caught: bool | None = None  # by the tests when it was last run; None: never run
    equal: str = ""  # why the code does the same with it

    def __str__(self) -> str:
        return f"{self.function or 'module'}\n    - {self.before}\n    + {self.after}"


def main() -> int:
    """Applies stored faults, runs their tests and prints the outcome of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=20, help="how many of the stored faults, drawn by seed; 0: all")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--draw", type=int, metavar="N", help="print N new faults of each folder as JSON, run nothing")
    options = parser.parse_args()
    if options.draw:
        print(json.dumps([asdict(fault) for fault in draw(options.draw, options.seed)], indent=0))
        return 0
    faults = stored_faults()
    if options.number:
        faults = random.Random(options.seed).sample(faults, min(options.number, len(faults)))
    survivors = 0
    failed: set[str] = set()
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_checkout(copy)
        for number, fault in enumerate(faults, 1):
            place = locate(fault, copy)
            if place is None:
                outcome = "no longer in the code"
            elif catching := failures(copy, fault):
                outcome = f"caught by {' '.join(catching)}"
                failed |= catching
            else:
                outcome = "survived, as when it was stored" if fault.caught is False else "SURVIVED"
                survivors += fault.caught is True
            print(f"[{number}/{len(faults)}] {outcome}: {place[0] if place else ''} {fault}", flush=True)
        always = run_tests(copy, sorted(failed - {HANGS}), "--maxfail=1000") if failed - {HANGS} else set()
        for test in sorted(always):
            print(f"fails without any fault: {test}")
    return 1 if survivors or always else 0


def stored_faults() -> list[Fault]:
    """The faults of tests/faults.json."""
    return [Fault(**row) for row in json.loads(FAULTS.read_text(encoding="utf-8"))]


def locate(fault: Fault, root: Path = ROOT) -> tuple[str, int] | None:
    """File below the root and line (from 0) of a fault, by the text of its line and its function; else None."""
    for path in sorted((root / "hashbench").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        if fault.before in text:
            tree = ast.parse(text)
            for line, content in enumerate(text.split("\n")):
                if content.strip() == fault.before and function_at(tree, line) == fault.function:
                    return str(path.relative_to(root)), line
    return None


def function_at(tree: ast.Module, line: int) -> str:
    """The name of the innermost function or class around a line (from 0)."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    around = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    around = [node for node in around if node.lineno <= line + 1 <= (node.end_lineno or 0)]
    return max(around, key=lambda node: node.lineno).name if around else ""


def draw(number: int, seed: int) -> Iterator[Fault]:
    """So many faults of each folder by seed, at most two of a file."""
    for room in sorted(path.parent for path in (ROOT / "hashbench").glob("*/__init__.py")):
        candidates = [(path, *fault) for path in sorted(room.rglob("*.py")) for fault in mutations(path)]
        # By a hash of the change, so that other changes of the code leave most of the draw as it was.
        candidates.sort(key=lambda fault: hashlib.sha256(f"{seed} {fault[2]} {fault[3]}".encode()).digest())
        taken: Counter[Path] = Counter()
        for path, line, before, after in candidates:
            if taken.total() < number and taken[path] < 2:
                taken[path] += 1
                tree = ast.parse(path.read_text(encoding="utf-8"))
                yield Fault(function_at(tree, line), before.strip(), after.strip())


def mutations(path: Path) -> Iterator[tuple[int, str, str]]:
    """Line (from 0), text and changed text of each mutation outside of messages, annotations and decorators."""
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    for node in visible(ast.parse(text)):
        for line, start, end, new in changes(node, lines):
            raw = lines[line].encode()  # columns of the syntax tree count bytes
            yield line, lines[line], (raw[:start] + new.encode() + raw[end:]).decode()


def visible(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes below one whose change a test could see."""
    if isinstance(node, ast.Raise | ast.Assert | ast.JoinedStr):
        return
    yield node
    hidden = {"annotation", "returns", "decorator_list"}
    for name, value in ast.iter_fields(node):
        for child in value if isinstance(value, list) else [value]:
            if name not in hidden and isinstance(child, ast.AST):
                yield from visible(child)


def changes(node: ast.AST, lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """(line, first column, last column, new text) of each change of a node that stands on one line."""
    if isinstance(node, ast.Constant) and (isinstance(node.value, bool) or node.value in (0, 1, 2)):
        if isinstance(node.value, bool | int):
            new = str(not node.value) if isinstance(node.value, bool) else str(node.value + 1)
            yield node.lineno - 1, node.col_offset, node.end_col_offset or 0, new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and node.lineno == node.operand.lineno:
        yield node.lineno - 1, node.col_offset, node.operand.col_offset, ""
    elif isinstance(node, ast.Compare):
        yield from swaps(node.ops, [node.left, *node.comparators], lines)
    elif isinstance(node, ast.BinOp):
        yield from swaps([node.op], [node.left, node.right], lines)
    elif isinstance(node, ast.BoolOp):
        yield from swaps([node.op] * (len(node.values) - 1), node.values, lines)


def swaps(operators: list, operands: list[ast.expr], lines: list[str]) -> Iterator[tuple[int, int, int, str]]:
    """The changes that put another operator between two operands of one line."""
    for operator, left, right in zip(operators, operands, operands[1:], strict=False):
        if type(operator) not in SWAPS or left.end_lineno != right.lineno or left.end_col_offset is None:
            continue
        old, new = SWAPS[type(operator)]
        line, start = right.lineno - 1, left.end_col_offset
        between = lines[line].encode()[start : right.col_offset].decode()
        found = re.search(rf"(?<!\w){re.escape(old)}(?!\w)" if old[0].isalpha() else re.escape(old), between)
        if found:
            yield line, start + found.start(), start + found.end(), new


def tests_of(file: str, root: Path = ROOT) -> list[str]:
    """The test files of a source file."""
    source = Path(*Path(file).parts[1:])
    folder = Path("tests") / source.parent
    lines = [line.split() for line in (root / "tests" / "covered_by.txt").read_text().splitlines()]
    tests = [test for covered, *others in lines if covered == str(source) for test in others]
    own = folder / f"test_{source.name}"
    module = ".".join(Path(file).with_suffix("").parts)
    examples = [f"tests/test_doctests.py::test_docstrings[{module}]"] if ">>> " in (root / file).read_text() else []
    tests += [
        str(test.relative_to(root))
        for test in sorted((root / "tests" / source.parts[0]).rglob("test_*.py"))
        if f"from {module} import" in test.read_text(encoding="utf-8")
    ]
    tests = list(dict.fromkeys([*([str(own)] if (root / own).is_file() else []), *tests]))
    return (tests or [str(folder)]) + examples


def copy_checkout(copy: Path) -> None:
    """The packages, tests and what the tests read, in a folder of their own; compiled kernels come along."""
    copy.mkdir()
    for name in ("hashbench", "tests", *ALSO_NEEDED):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name)
        elif source.is_file():
            shutil.copy2(source, copy / name)


def failures(copy: Path, fault: Fault) -> set[str]:
    """The tests that fail with the fault in place, up to the first of them."""
    place = locate(fault, copy)
    assert place is not None
    path, line = copy / place[0], place[1]
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    lines[line] = lines[line].replace(fault.before, fault.after)
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        return run_tests(copy, tests_of(place[0], copy), "-x")
    finally:
        path.write_text(text, encoding="utf-8")


def run_tests(copy: Path, tests: Sequence[str], stop: str) -> set[str]:
    """Those of these tests that fail in the copy, as FILE::TEST."""
    # With those that need a server, where there is one: half of the store's SQL is for PostgreSQL.
    program = [sys.executable, "-m", "pytest", stop, "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider", "-m", MARKED]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "300"}
    try:
        done = subprocess.run([*program, *tests], cwd=copy, env=environment, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return {HANGS}
    if done.returncode == 0:
        return set()
    # Without the case in brackets, in which anything may stand
    return set(re.findall(r"(?m)^(?:FAILED|ERROR) ([^\s\[]+)", done.stdout.decode())) or {HANGS}


if __name__ == "__main__":
    sys.exit(main())
