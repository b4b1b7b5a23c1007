"""No command's work in a database grows faster than what is in it: statements, rows fetched, steps of SQLite.

Each command runs on databases of three sizes, n, 2n and 4n. Of linear work, the second increase is twice the first one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hashbench.results.dashboard.runs import shown
from hashbench.store.engine import open_results
from tests.commands import call
from tests.databases.made_up import World, build

SIZES = (3, 6, 12)
LINEAR = 2.0
MORE = 0.3  # of n log n, at these sizes, and of parts that begin late
STEPS = 100  # instructions of SQLite's virtual machine that count as one step
MODELS, TASKS = ("bert-mlm", "hashformer-md-emb-50k"), ("cola", "rte")
COMMANDS = (
    ["list"], ["status", "first"], ["status", "first", "--all"], ["report", "first"], ["report", "first", "--examples"],
    ["report", "first", "--table", "1"], ["report", "claims", "first"], ["compare", "first", *MODELS],
    ["plot", "--experiment", "first"], ["report", "first", "--format", "html", "--output", "page.html"],
    ["db", "check"], ["db", "merge"], ["dashboard"],
)  # fmt: skip


@dataclass
class Work:
    """What a command made the database do."""

    statements: int = 0
    rows: int = 0
    steps: int = 0

    def _begin(self, *_: object) -> None:
        self.statements += 1

    def _row(self, _: object, row: tuple[object, ...]) -> tuple[object, ...]:
        self.rows += 1
        return row

    def _step(self) -> None:
        self.steps += 1

    def _connected(self, connection: sa.engine.interfaces.DBAPIConnection, _: object) -> None:
        connection.row_factory = self._row  # type: ignore[attr-defined]
        connection.set_progress_handler(self._step, STEPS)  # type: ignore[attr-defined]


def made_up_id(spec: Mapping[str, Any]) -> str:
    """The id of a run of these databases."""
    return hashlib.sha256(json.dumps(spec, sort_keys=True).encode()).hexdigest()


@contextmanager
def counted() -> Iterator[Work]:
    """Counts the work of all databases that the block opens."""
    work = Work()
    listened = [(sa.pool.Pool, "connect", work._connected), (sa.engine.Engine, "before_cursor_execute", work._begin)]
    for target, event, listener in listened:
        sa.event.listen(target, event, listener)
    try:
        yield work
    finally:
        for target, event, listener in listened:
            sa.event.remove(target, event, listener)


def assert_linear(works: list[Work], what: str) -> None:
    """Fails where work at n, 2n and 4n grew faster than n."""
    for field, small, middle, large in zip(fields(Work), *map(astuple, works), strict=True):
        allowed = (LINEAR + MORE) * max(middle - small, 0) + 0.1 * small + 5  # a constant part may vary
        assert large - middle <= allowed, f"{what}: {field.name} at n, 2n, 4n: {small}, {middle}, {large}"


@pytest.fixture(scope="module", params=["runs", "experiments"])
def databases(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Folders with results.db of each size, which is a number of seeds or of experiments."""
    folders = []
    for size in SIZES:
        folder = tmp_path_factory.mktemp(f"{request.param}-{size}")
        examples = dict.fromkeys(TASKS, 20)
        seeds = range(size if request.param == "runs" else 2)
        for number in range(1 if request.param == "runs" else size):
            name = f"other {number}" if number else "first"
            # other steps make other runs; baselines are shared
            world = World(models=MODELS, tasks=TASKS, seeds=seeds, name=name, steps=500 + number, examples=examples)
            build(folder / "results.db", world).close()
        folders.append(folder)
    return folders


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_work_is_linear_in_runs_and_experiments(
    command: list[str], databases: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`db check` finds something: scores that were made up."""
    monkeypatch.setattr("hashbench.running.experiment.identity.run_id", made_up_id)
    works = []
    for size, folder in zip(SIZES, databases, strict=True):
        place = tmp_path / str(size)
        shutil.copytree(folder, place)
        with counted() as work:
            if command == ["dashboard"]:  # what is read for it: wandb need not be there
                shown(open_results(place / "results.db"), "first")
            elif command == ["db", "merge"]:
                outcome = call(*command, "results.db", "--db", "empty.db", cwd=place)
            else:
                outcome = call(*command, cwd=place)
        assert command == ["dashboard"] or outcome.code == (1 if command == ["db", "check"] else 0), outcome
        works.append(work)
    assert_linear(works, " ".join(command))


def test_list_reads_in_a_fixed_number_of_statements(databases: list[Path]) -> None:
    for command in (["list"], ["status", "first", "--all"]):
        counts = []
        for folder in databases:
            with counted() as work:
                assert call(*command, cwd=folder).code == 0
            counts.append(work.statements)
        assert len(set(counts)) == 1, (command, counts)


def test_a_page_reads_its_experiment_once_for_tables_claims_and_figures(databases: list[Path], tmp_path: Path) -> None:
    shutil.copytree(databases[0], tmp_path / "own")  # a page that is there already is looked at before it is replaced
    reads = []

    def read(_: object, __: object, statement: str, *___: object) -> None:
        reads.append("SELECT model, run_id, metric, split, condition" in statement)

    sa.event.listen(sa.engine.Engine, "before_cursor_execute", read)
    try:
        assert call("report", "first", "--format", "html", "--output", "page.html", cwd=tmp_path / "own").code == 0
    finally:
        sa.event.remove(sa.engine.Engine, "before_cursor_execute", read)
    assert sum(reads) == 1


def test_quadratic_work_is_found() -> None:
    assert_linear([Work(10, 3 * n, n) for n in SIZES], "linear")
    with pytest.raises(AssertionError, match="rows at n, 2n, 4n: 9, 36, 144"):
        assert_linear([Work(10, n * n, n) for n in SIZES], "quadratic")
