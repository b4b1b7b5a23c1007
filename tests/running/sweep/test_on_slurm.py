"""Sweeps in an array job: what is submitted and refused, and elements that are killed, preempted and queued again."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import submitit

from hashbench.common.errors import InputError
from hashbench.running.experiment.schema import Experiment
from hashbench.running.sweep import on_slurm
from hashbench.running.sweep.executors import find_executor
from hashbench.running.sweep.on_slurm import Element, SlurmExecutor, parameters_of
from hashbench.store.engine import Store, open_store
from tests.commands import call
from tests.running.sweep.idle import make_assignment
from tests.running.sweep.slurm_stand_in import put_on_path, signal_all
from tests.running.sweep.test_runner import scores

RUNNING = "SELECT COUNT(*) AS n FROM attempt WHERE state = 'running'"
LEFT = "SELECT COUNT(*) AS n FROM run WHERE state <> 'done'"
STATES = "SELECT state, COUNT(*) AS n FROM attempt GROUP BY state"
MOST_OF_A_RUN = "SELECT MAX(n) AS n FROM (SELECT COUNT(*) AS n FROM attempt WHERE state = 'done' GROUP BY run_id) AS a"

# Runs that wait until a file beside the cache is there, or until they are to stop
GATED = """
import time

from hashbench.extend import MetricRow, Result, RunKind
from hashbench.running.training.machine import Interrupted


class Gated(RunKind):
    name, order = "gated", 900

    def planned(self, resolved):
        return [self.make(resolved.experiment.encoder, "raw", {"number": seed}, seed=seed) for seed in range(4)]

    def carry_out(self, run, place, machine):
        while not (place.artifacts.cache.parent / "open").exists():
            if machine.should_stop.is_set():
                raise Interrupted
            time.sleep(0.02)
        return Result(metrics=[MetricRow("value", 1.0, split="validation")])


KIND = Gated()
"""
FILE = """\
name: small
data: builtin
encoder: tiny
models: [{{name: raw, like: hashformer-md-proj, objective: none}}]
baseline: raw
floors: []
tasks: {tasks}
seeds: [0, 1, 2, 3, 4, 5, 6, 7]
finetune: {{epochs: {epochs}, batch_size: 32, max_length: 32, evaluations_per_epoch: 2}}
threads: 1
device: cpu
checkpoint_minutes: 0.02
executor: slurm
workers: {workers}
slurm: {{time: 30}}
"""


def command(folder: Path, variables: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "hashbench", *arguments],
        cwd=folder,
        env=os.environ | {"HASHBENCH_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"} | variables,
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )


def wait_for(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 900
    while not what():
        assert time.monotonic() < deadline, "it does not come about"
        time.sleep(0.2)


def number(store: Store, sql: str) -> int:
    return int(store.query(sql)[0]["n"])


def states(store: Store) -> dict[str, int]:
    return {row["state"]: row["n"] for row in store.query(STATES)}


@pytest.fixture
def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    (tmp_path / "slurm").mkdir()
    variables = put_on_path(tmp_path / "slurm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    yield variables
    signal_all(variables, signal.SIGKILL)


@pytest.mark.slow
def test_a_killed_and_a_preempted_element_cost_no_run(tmp_path: Path, stand_in: dict[str, str]) -> None:
    """Each of two elements has a run when one is killed and the other preempted, which is queued again."""
    (tmp_path / "own.py").write_text(GATED)
    (tmp_path / "small.yaml").write_text(FILE.format(tasks="[]", epochs=1, workers=2))
    variables = stand_in | {"HASHBENCH_PLUGINS": str(tmp_path / "own.py")}
    begun = command(tmp_path, variables, "sweep", "small.yaml", "--db", "r.db")
    assert begun.returncode == 0 and begun.stdout == "", begun.stderr
    assert begun.stderr.splitlines()[-4:-2] == [
        "submitted to Slurm: job 1, 2 elements; this command has no more to do",
        "  progress: hashbench status small --db r.db",
    ]
    store = open_store(tmp_path / "r.db")
    wait_for(lambda: number(store, RUNNING) == 2)
    folder = tmp_path / "cache" / "slurm" / "small"
    subprocess.run(["scancel", "1_0", "--signal", "KILL"], check=True)
    submitit.SlurmJob(folder=folder, job_id="1_1")._interrupt(timeout=False)
    wait_for(lambda: (tmp_path / "slurm" / "requeued-1_1").exists())
    assert states(store) in ({"lost": 1, "interrupted": 1}, {"running": 1, "interrupted": 1})  # until its lease ends
    (tmp_path / "open").touch()
    wait_for(lambda: number(store, LEFT) == 0)
    assert states(store) == {"done": 4, "lost": 1, "interrupted": 1}
    assert number(store, MOST_OF_A_RUN) == 1
    assert number(store, "SELECT MAX(tries) AS n FROM run") == 0
    log = (folder / "1_1_0_log.out").read_text()
    assert "SIGTERM: stops, and gives its run back" in log or "SIGUSR2: stops, and gives its run back" in log
    again = command(tmp_path, variables, "sweep", "small.yaml", "--db", "r.db")
    assert again.returncode == 0 and "all 4 runs are done already" in again.stderr


CONF = """\
ClusterName=tests
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/none
CredType=cred/none
SlurmUser={user}
SlurmdUser={user}
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldPort=17017
SlurmdPort=17018
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
KillWait=5
NodeName={host} NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


@pytest.fixture
def slurm_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, str]]:
    """Slurm's daemons on this machine, without authentication."""
    daemons = ("slurmctld", "slurmd")
    if missing := [name for name in (*daemons, "sbatch") if shutil.which(name) is None]:
        pytest.skip(f"no {missing[0]} on this machine")
    folder = tmp_path / "slurm"
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    host, user = socket.gethostname().partition(".")[0], os.environ.get("USER", "root")
    (folder / "slurm.conf").write_text(CONF.format(host=host, folder=folder, user=user))
    monkeypatch.setenv("SLURM_CONF", str(folder / "slurm.conf"))
    started = []
    for name in daemons:
        with open(folder / f"{name}.log", "w") as log:
            started.append(subprocess.Popen([name, "-D"], stdout=log, stderr=log))

    def answers() -> bool:
        said = subprocess.run(
            ["sinfo", "--noheader", "--format=%T"], capture_output=True, text=True, check=False
        ).stdout
        return said.strip() == "idle"

    try:
        wait_for(answers)
        yield {"SLURM_CONF": str(folder / "slurm.conf")}
    finally:
        subprocess.run(["scancel", "--user", user], check=False)
        for daemon in reversed(started):
            daemon.terminate()
            daemon.wait(timeout=60)


@pytest.mark.services
@pytest.mark.timeout(1800)
@pytest.mark.xdist_group("slurm")
@pytest.mark.parametrize("place", ["stand_in", "slurm_itself"])
def test_of_four_elements_two_are_killed_and_one_is_preempted(
    tmp_path: Path, place: str, request: pytest.FixtureRequest
) -> None:
    """All 24 fine-tunings are done once, with the scores of a sweep on this machine that nobody disturbed."""
    variables = request.getfixturevalue(place)
    (tmp_path / "small.yaml").write_text(FILE.format(tasks="[mrpc, cola, rte]", epochs=2, workers=4))
    begun = command(tmp_path, variables, "sweep", "small.yaml", "--db", "r.db")
    assert begun.returncode == 0, begun.stderr
    job = re.search(r"submitted to Slurm: job (\d+), 4 elements", begun.stderr)[1]
    store = open_store(tmp_path / "r.db")
    wait_for(lambda: number(store, RUNNING) == 4)
    for element in (0, 1):
        subprocess.run(["scancel", f"{job}_{element}", "--signal", "KILL"], check=True)
    folder = tmp_path / "cache" / "slurm" / "small"
    submitit.SlurmJob(folder=folder, job_id=f"{job}_2")._interrupt(timeout=False)
    wait_for(lambda: number(store, LEFT) == 0)
    assert f"Requeued job {job}_2" in (folder / f"{job}_2_0_log.out").read_text()
    assert number(store, MOST_OF_A_RUN) == 1 and states(store)["done"] == 24
    assert number(store, "SELECT MAX(tries) AS n FROM run") == 0
    again = command(tmp_path, variables, "sweep", "small.yaml", "--db", "r.db")
    assert again.returncode == 0 and "all 24 runs are done already" in again.stderr
    here = command(tmp_path, variables, "sweep", "small.yaml", "--db", "local.db", "executor=local", "workers=2")
    assert here.returncode == 0, here.stderr
    assert scores(tmp_path / "r.db") == scores(tmp_path / "local.db")


def test_the_options_of_a_file_are_those_of_the_job(tmp_path: Path, stand_in: dict[str, str]) -> None:
    assignment = make_assignment(tmp_path, 3)
    block = {"time": "1-02:30", "mail_type": "END,FAIL", "comment": "it's $HOME", "exclusive": True, "cpus-per-task": 2}
    experiment = assignment.resolved.experiment.model_copy(
        update={"slurm": Experiment(name="a", models=("bert-mlm",), slurm=block).slurm}
    )
    job = submitit.SlurmExecutor(tmp_path / "job")
    job.update_parameters(**parameters_of(experiment, 3))
    lines = job._make_submission_file_text("true", "0").splitlines()
    assert {
        "#SBATCH --time=1590", "#SBATCH --mail-type=END,FAIL", "#SBATCH --exclusive", "#SBATCH --cpus-per-task=2",
        """#SBATCH --comment='it'"'"'s $HOME'""", "#SBATCH --job-name=hashbench-nothing", "#SBATCH --requeue",
        "#SBATCH --signal=USR2@180", "export SRUN_CPUS_PER_TASK=2",
    } <= set(lines)  # fmt: skip
    assert not [line for line in lines if "wckey" in line]


def test_the_assignment_with_its_password_is_for_its_owner_alone(
    tmp_path: Path, stand_in: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assignment = make_assignment(tmp_path, 1)
    monkeypatch.setitem(assignment.resolved.experiment.slurm, "time", 5)
    monkeypatch.setattr(on_slurm, "pack", lambda assignment: b"")  # its element ends at once
    said = SlurmExecutor.submit(assignment, 1)
    assert said.startswith("submitted to Slurm: job 1, one element;")
    (file,) = (tmp_path / "cache" / "slurm" / "nothing").glob("*.assignment")
    assert file.stat().st_mode & 0o777 == 0o600


REFUSED = {
    "a partition": (
        ["slurm.partition=none"],
        r"^hashbench: slurm: sbatch refuses the job: Batch job submission failed; change the block slurm$",
    ),
    "no time": (["slurm={}"], r"override slurm=\{\}: slurm\.time is missing; give the time limit of an element"),
    "an option that an element has": (
        ["slurm.array=0-9"], r"slurm: array is set by hashbench; workers is the number of elements; leave it out$"
    ),
    "no name": (["slurm={time: 5, --mem: 2G}"], r"slurm: '--mem' is no option of sbatch; write a long name"),
    "two lines": (['slurm={time: 5, comment: "a\\nrm x"}'], r"slurm: comment: 'a\\nrm x' is no value on one line"),
    "no value": (["slurm={time: 5, exclusive: false}"], r"slurm: exclusive: False is no value on one line; write true"),
    "both spellings": (
        ["slurm={time: 5, mail-type: END, mail_type: END}"], r"slurm: mail-type stands twice, with - and with _; keep"
    ),
    "no time limit": (["slurm.time=12h"], r"slurm: time: '12h' is no time limit; write minutes, hours:minutes:seconds"),
    "several nodes": (["nodes=2"], r"override nodes=2: nodes: more than one needs executor: ray"),
    "one that stays": (["--max-hours", "1"], r"^hashbench: executor: slurm: --fail-fast and --max-hours are for"),
}  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(tmp_path: Path, stand_in: dict[str, str], arguments: list[str], message: str) -> None:
    (tmp_path / "small.yaml").write_text(FILE.format(tasks="[mrpc]", epochs=1, workers=1))
    done = call("sweep", "small.yaml", "--db", "r.db", *arguments, cwd=tmp_path)
    assert done.code == 2, done.err
    assert re.search(message, done.err.splitlines()[-1]), done.err
    assert not list((tmp_path / "slurm").glob("job-*"))


def test_without_slurm_and_without_submitit_one_line_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(
        InputError, match=r"^executor: slurm: no sbatch on this machine; start the sweep where jobs are"
    ):
        SlurmExecutor.check("r.db", stays=False)
    monkeypatch.setitem(sys.modules, "submitit", None)
    monkeypatch.delitem(sys.modules, "hashbench.running.sweep.on_slurm")
    with pytest.raises(
        InputError, match=r"^executor: slurm: submitit is not installed; run: pip install 'hashbench\[slurm\]'$"
    ):
        find_executor("slurm")


def test_a_file_is_refused_where_several_machines_would_share_it(
    tmp_path: Path, stand_in: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db = str(tmp_path / "r.db")
    SlurmExecutor.check(db, stays=False)
    SlurmExecutor.check("postgresql://me@server/results", stays=False)
    monkeypatch.setattr(on_slurm, "other_nodes", lambda: ["node7"])
    SlurmExecutor.check("postgresql://me@server/results", stays=False)
    with pytest.raises(
        InputError, match=r"a SQLite file on a disk of this machine, which node7 and .*; give a Postgre"
    ):
        SlurmExecutor.check(db, stays=False)
    for kind in ("nfs4", "lustre", "gpfs", "beegfs", "cifs", "fuse.sshfs"):
        monkeypatch.setattr(on_slurm, "file_system", lambda path, kind=kind: kind)
        with pytest.raises(InputError, match=rf"network file system \({kind}\), where .*; give a PostgreSQL") as error:
            SlurmExecutor.check(db, stays=False)
        assert "\n" not in str(error.value)


def test_a_controller_that_does_not_answer_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sinfo").write_text("#!/bin/sh\necho 'slurm_load_partitions: Unable to contact' >&2\nexit 1\n")
    (tmp_path / "sinfo").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    with pytest.raises(InputError, match=r"^executor: slurm: slurm_load_partitions: Unable to contact; see whether"):
        on_slurm.other_nodes()


@pytest.fixture
def begin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Element]]:
    """An element that gets signals as soon as its worker is at work, which ends only on request, with runs left."""

    def element(*signals: signal.Signals) -> Element:
        def take_part(_: object, over: Callable[[], str]) -> int:
            for number in signals:
                os.kill(os.getpid(), number)
            while not over():
                time.sleep(0.01)
            return 1

        monkeypatch.setattr(on_slurm, "take_part", take_part)
        return Element(tmp_path / "a")

    assignment = make_assignment(tmp_path, 1)
    monkeypatch.setattr(on_slurm, "unpack", lambda packed, cache: assignment)
    monkeypatch.setattr(on_slurm, "ENDED_WITHIN_S", 0.0)
    (tmp_path / "a").touch()
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGUSR2)}
    yield element
    for number, handler in before.items():
        signal.signal(number, handler)


def test_an_element_that_is_terminated_stops_its_worker_however_often_it_hears_it(
    begin: Callable[..., Element],
) -> None:
    """As srun hands on what it gets itself."""
    with pytest.raises(SystemExit) as ended:
        begin(*[signal.SIGTERM] * 3)()
    assert ended.value.code == 1


@pytest.mark.parametrize("signals", [(signal.SIGUSR2,), (signal.SIGTERM, signal.SIGUSR2)])
def test_the_worker_is_stopped_before_the_element_is_queued_again(
    begin: Callable[..., Element], signals: tuple[signal.Signals, ...]
) -> None:
    element = begin(*signals)
    again = []
    signal.signal(signal.SIGUSR2, lambda *_: again.append((element.checkpoint(), element._sweep.is_alive())))
    with pytest.raises(SystemExit):
        element()
    ((delayed, is_alive),) = again
    assert isinstance(delayed.function, Element) and delayed.function is not element and not is_alive


def test_an_element_that_cannot_begin_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def refuse(*_: object) -> int:
        raise InputError("r.db: no such database")

    (tmp_path / "a").touch()
    monkeypatch.setattr(on_slurm, "unpack", refuse)
    try:
        with pytest.raises(SystemExit) as ended:
            Element(tmp_path / "a")()
    finally:
        signal.signal(signal.SIGTERM, before)
    assert ended.value.code == 2
    assert "hashbench: r.db: no such database" in capfd.readouterr().err
