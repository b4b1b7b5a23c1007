"""Slurm's programs as far as a sweep uses them, for machines without Slurm: processes of this machine are the elements.

As in Slurm, a signal reaches every process that srun has started, and an element that is queued again begins anew when
it has ended. `put_on_path` writes the programs; each is this file, called by its name.
"""

import os
import re
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("sbatch", "srun", "scontrol", "scancel", "sinfo")
STATE = "SLURM_STAND_IN"  # a variable with a folder: the options that were given, and a file for each requeue
JOB, ELEMENT, STEP = "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_STEP_ID"


def put_on_path(folder: Path) -> dict[str, str]:
    """Writes the programs into a folder; returns the variables with which they are found."""
    (folder / "bin").mkdir()
    for name in PROGRAMS:
        program = folder / "bin" / name
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -S {__file__} {name} "$@"\n')
        program.chmod(stat.S_IRWXU)
    return {"PATH": f"{folder / 'bin'}:{os.environ['PATH']}", STATE: str(folder)}


def state() -> Path:
    return Path(os.environ[STATE])


def sbatch(script: str) -> None:
    """Starts the elements of an array, or the one job of a script without an array."""
    text = Path(script).read_text()
    if refused := re.search(r"#SBATCH --partition=(\S+)", text):
        sys.exit(
            f"sbatch: error: invalid partition specified: {refused[1]}\nsbatch: error: Batch job submission failed"
        )
    job = str(1 + len(list(state().glob("job-*"))))
    (state() / f"job-{job}").write_text(text)
    array = re.search(r"#SBATCH --array=0-(\d+)", text)
    output = re.search(r"#SBATCH --output=(\S+)", text)[1]
    for number in range(int(array[1]) + 1) if array else [None]:
        named = {"SLURM_JOB_ID": job} | ({JOB: job, ELEMENT: str(number)} if array else {})
        log = output.replace("%A", job).replace("%a", str(number)).replace("%j", job)
        with open(log, "a") as out:
            command = [sys.executable, "-S", __file__, "element", script]
            subprocess.Popen(command, env=os.environ | named, stdout=out, stderr=out, start_new_session=True)
    print(f"Submitted batch job {job}")


def element(script: str) -> None:
    """Carries out a script, again as often as it is queued again meanwhile."""
    again = state() / f"requeue-{name_here()}"
    while True:
        subprocess.run(["bash", script], check=False)
        if not again.exists():
            return
        again.rename(again.with_name(f"requeued-{name_here()}"))


def srun(*arguments: str) -> None:
    command = list(arguments)
    while command[0].startswith("--"):
        command = command[1 if command[0] == "--unbuffered" else 2 :]
    os.execvpe(command[0], command, os.environ | {STEP: "0"})


def scontrol(what: str, job: str) -> None:
    assert what == "requeue"
    (state() / f"requeue-{job}").touch()


def scancel(job: str, option: str, name: str) -> None:
    assert option == "--signal"
    number, _, of_array = job.partition("_")
    variables = {JOB: number, ELEMENT: of_array, STATE: str(state()), STEP: "0"}
    signal_all(variables, getattr(signal, f"SIG{name.removeprefix('SIG')}"))


def signal_all(variables: dict[str, str], number: signal.Signals) -> None:
    """Sends a signal to all processes with these variables."""
    wanted = {f"{name}={value}".encode() for name, value in variables.items()}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if wanted <= set((process / "environ").read_bytes().split(b"\0")):
                os.kill(int(process.name), number)
        except OSError:  # it has just ended, or is another user's
            continue


def sinfo(*_: str) -> None:
    print(socket.gethostname())


def name_here() -> str:
    return f"{os.environ[JOB]}_{os.environ[ELEMENT]}" if JOB in os.environ else os.environ["SLURM_JOB_ID"]


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
