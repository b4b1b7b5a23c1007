"""An experiment sent to a server: what arrives is what the database holds, and no server makes the command lie.

The server is a stand-in on loopback; the client is the real one, in a process of its own.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("wandb_workspaces", reason="wandb-workspaces is an extra")

from hashbench.results.dashboard.runs import shown  # noqa: E402
from hashbench.store.engine import Store  # noqa: E402
from tests.databases.made_up import build  # noqa: E402
from tests.results.dashboard.conftest import world  # noqa: E402
from tests.results.dashboard.wandb_server import ENTITY, KEY, WandbStandIn, wandb_stand_in  # noqa: E402

pytestmark = pytest.mark.services
# The command, which gives a silent server up sooner
COMMAND = (
    "from hashbench.results.dashboard import main as dashboard; dashboard.PROBE_S = 5\n"
    "from hashbench.cli.app import main; main()"
)
POINTS = """
    SELECT run.id AS run, metric.split AS split, metric.name AS name, metric.step AS step, metric.value AS value
    FROM metric JOIN attempt ON attempt.id = metric.attempt_id JOIN run ON run.id = attempt.run_id
    WHERE run.state = 'done' AND metric.step > 0 AND metric.split <> '' AND metric.condition = ''
        AND metric.value IS NOT NULL
"""


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    path = tmp_path_factory.mktemp("sent") / "results.db"
    small = world(models=("bert-mlm",), tasks=("cola",), seeds=(0,), failed=set(), undefined=set())
    return build(path, small), path


def dashboard(database: tuple[Store, Path], folder: Path, server: WandbStandIn) -> subprocess.CompletedProcess[str]:
    words = ["dashboard", "--db", str(database[1]), "--output", str(folder), "--project", "p"]
    return called(["-c", COMMAND, *words], folder, server)


def sync(folder: Path, server: WandbStandIn) -> subprocess.CompletedProcess[str]:
    """The command that `dashboard` prints."""
    runs = map(str, sorted((folder / "wandb").glob("offline-run-*")))
    return called(["-m", "wandb", "sync", "-p", "p", "-e", ENTITY, *runs], folder, server)


def called(words: list[str], folder: Path, server: WandbStandIn) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"WANDB_BASE_URL": server.address, "WANDB_API_KEY": KEY, "WANDB_DIR": str(folder.parent)}
    return subprocess.run([sys.executable, *words], env=environment, cwd=folder.parent, capture_output=True, text=True)


def filled(value: Any) -> Any:
    """Without empty mappings, which the client does not send."""
    if not isinstance(value, dict):
        return value
    return {name: filled(each) for name, each in value.items() if each != {}}


def assert_all_arrived(database: tuple[Store, Path], server: WandbStandIn) -> None:
    """Facts, summaries and tables are those of the database; points of curves are its rows, no more and no fewer."""
    expected = {run.id: run for run in shown(database[0]).runs}
    assert server.runs.keys() == expected.keys()
    curves = defaultdict(dict)
    for row in database[0].query(POINTS):
        curves[row["run"][:32]][row["step"], f"{row['split']}/{row['name']}"] = row["value"]
    assert curves
    for key, run in expected.items():
        sent = server.runs[key]
        assert (sent.complete, sent.exit_code, sent.project) == (True, 0, "p")
        facts = {"groupName": run.group, "displayName": run.name, "jobType": run.kind, "tags": list(run.tags)}
        assert sent.facts == facts
        assert filled(sent.config).items() >= filled(json.loads(json.dumps(dict(run.config)))).items()
        assert sent.summary.items() >= dict(run.summary).items()
        points = {
            (row["step"], name): value
            for row in sent.history.values()
            for name, value in row.items()
            if "/" in name
        }  # fmt: skip
        assert points == curves.get(key, {})
        assert {"config.yaml", "wandb-summary.json"} <= sent.files.keys()


def test_what_arrives_is_what_the_database_holds_and_a_second_call_sends_nothing(database, tmp_path) -> None:
    with wandb_stand_in() as server:
        first = dashboard(database, tmp_path / "files", server)
        assert first.returncode == 0, first.stderr
        assert f"send the runs: wandb sync -p p -e {ENTITY} {tmp_path / 'files'}/wandb/offline-run-*" in first.stderr
        sent = sync(tmp_path / "files", server)
        assert sent.returncode == 0, sent.stderr
        assert_all_arrived(database, server)
        (view,) = server.views.values()
        assert (view["type"], view["displayName"]) == ("project-view", "hashbench made-up")
        assert json.loads(view["spec"])["section"]
        assert f"workspace: {server.address}/{ENTITY}/p?nw=" in first.stdout
        marked = set((tmp_path / "files").rglob("*.synced"))
        assert dashboard(database, tmp_path / "files", server).returncode == 0
        assert len(marked) == len(server.runs) and marked == set((tmp_path / "files").rglob("*.synced"))
        assert len(server.views) == 1  # written over


def test_a_key_that_is_refused_sends_nothing(database, tmp_path) -> None:
    with wandb_stand_in() as server:
        server.refuse_after = 0
        refused = dashboard(database, tmp_path / "files", server)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1
        assert f"{server.address} does not answer, or does not know the API key" in refused.stderr
        assert server.runs == {}


def test_a_server_that_never_answers_is_given_up(database, tmp_path) -> None:
    with wandb_stand_in() as server:
        server.silent_after = 0
        silent = dashboard(database, tmp_path / "files", server)
        assert silent.returncode == 2 and silent.stderr.count("\n") == 1
        assert f"the W&B server {server.address} does not answer" in silent.stderr
