"""`make mutants`: small faults put into the code one at a time, and whether the tests of the changed file catch each.

A mutation changes one operator, one small number or one truth value of a line. Mutations are drawn by seed, as many
from each room. Each is applied in a copy of the checkout, where the tests that mirror the file run:
`tests/ROOM/test_FILE.py`, or those that `tests/covered_by.txt` names for it. Exit code 1 if a mutation survives.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SEED = 16
EACH = 4  # mutations from each room: 20 in all
MARKED = "not slow and not gpu"
ROOMS = {
    "store": "store/*.py",
    "scores": "scores/*.py",
    "coders": "models/coders/*.py",
    "batching": "data/sources/batching.py",
    "claims": "results/claims/*.py",
}
LIMIT_S = 600  # a mutation that makes the tests hang is caught
ALSO_NEEDED = ("analysis", "benchmarks", "experiments", "pyproject.toml", "results.db.example", "README.md", "docs")
SWAPS = {
    ast.Lt: ("<", "<="), ast.LtE: ("<=", "<"), ast.Gt: (">", ">="), ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="), ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"),
    ast.In: ("in", "not in"), ast.NotIn: ("not in", "in"), ast.Add: ("+", "-"), ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"), ast.FloorDiv: ("//", "*"), ast.Div: ("/", "*"), ast.Mod: ("%", "//"),
    ast.And: ("and", "or"), ast.Or: ("or", "and"),
}  # fmt: skip
# Changes that change nothing a test could see, with the reason. (file, line as it stands, line as it would be)
EQUIVALENT: dict[tuple[str, str, str], str] = {}


@dataclass(frozen=True)
class Mutation:
    """One changed line."""

    file: str  # below the root
    line: int  # from 0
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line + 1}\n    - {self.before.strip()}\n    + {self.after.strip()}"


def main() -> int:
    """Draws the mutations, runs their tests and prints what became of each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--room", choices=ROOMS, action="append", help="only this room; repeat it for several")
    parser.add_argument("--list", action="store_true", help="print the mutations, run nothing")
    options = parser.parse_args()
    drawn = [each for room in options.room or ROOMS for each in draw(room, options.seed)]
    if options.list:
        print("\n".join(map(str, drawn)))
        return 0
    survivors = 0
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        copy_checkout(copy)
        files = sorted({each.file for each in drawn})
        for file in files:
            if not passes(copy, tests_of(file)):
                print(f"{file}: its tests fail without any mutation", file=sys.stderr)
                return 2
        for number, mutation in enumerate(drawn, 1):
            is_caught = caught(copy, mutation)
            survivors += not is_caught
            print(f"[{number}/{len(drawn)}] {'caught' if is_caught else 'SURVIVED'}: {mutation}", flush=True)
    print(f"{len(drawn) - survivors} of {len(drawn)} caught")
    return 1 if survivors else 0


def draw(room: str, seed: int) -> list[Mutation]:
    """Mutations of a room by seed, each of another line, in the order of files."""
    files = sorted((ROOT / "hashbench").glob(ROOMS[room]))
    candidates = [each for file in files for each in mutations(file)]
    # By a hash of the change, so that other changes of the code leave most of the draw as it was.
    candidates.sort(key=lambda each: hashlib.sha256(f"{seed} {each.file} {each.before} {each.after}".encode()).digest())
    first_of_line: dict[tuple[str, int], Mutation] = {}
    for each in candidates:
        first_of_line.setdefault((each.file, each.line), each)
    return sorted(list(first_of_line.values())[:EACH], key=lambda each: (each.file, each.line))


def mutations(path: Path) -> Iterator[Mutation]:
    """Every mutation of a file, but for those in messages, annotations and decorators."""
    text = path.read_text(encoding="utf-8")
    lines, file = text.split("\n"), str(path.relative_to(ROOT))
    for node in visible(ast.parse(text)):
        for line, start, end, new in changes(node, lines):
            before = lines[line]
            # Columns of the syntax tree count bytes.
            raw = before.encode()
            after = (raw[:start] + new.encode() + raw[end:]).decode()
            if (file, before.strip(), after.strip()) not in EQUIVALENT:
                yield Mutation(file, line, before, after)


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


def tests_of(file: str) -> list[str]:
    """The test files of a source file."""
    source = Path(*Path(file).parts[1:])
    folder = Path("tests") / source.parent
    lines = [line.split() for line in (ROOT / "tests" / "covered_by.txt").read_text().splitlines()]
    tests = [test for covered, *others in lines if covered == str(source) for test in others]
    own = folder / f"test_{source.name}"
    return [*([str(own)] if (ROOT / own).is_file() else []), *tests] or [str(folder)]


def copy_checkout(copy: Path) -> None:
    """The packages, tests and what the tests read, in a folder of their own; compiled kernels come along."""
    copy.mkdir()
    for name in ("hashbench", "tests", *ALSO_NEEDED):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name)
        elif source.is_file():
            shutil.copy2(source, copy / name)


def caught(copy: Path, mutation: Mutation) -> bool:
    """Whether the tests fail with the mutation in place."""
    path = copy / mutation.file
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    assert lines[mutation.line] == mutation.before
    lines[mutation.line] = mutation.after
    path.write_text("\n".join(lines), encoding="utf-8")
    try:
        return not passes(copy, tests_of(mutation.file))
    finally:
        path.write_text(text, encoding="utf-8")


def passes(copy: Path, tests: list[str]) -> bool:
    """Whether these tests pass in the copy."""
    # With those that need a server, where there is one: half of the store's SQL is for PostgreSQL.
    program = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-m", MARKED, *tests]
    environment = os.environ | {"PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(program, cwd=copy, env=environment, capture_output=True, timeout=LIMIT_S)
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
