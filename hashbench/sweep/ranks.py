"""One run on several devices of this machine: a process for each, and the first one's result."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace
from multiprocessing import connection, get_context
from multiprocessing.synchronize import Event as StopEvent

import torch

from hashbench.experiment.plan import Run
from hashbench.store.result import Result
from hashbench.sweep.executors.local import Assignment
from hashbench.sweep.materials import Materials
from hashbench.sweep.work import Workplace, do_run
from hashbench.training.checkpoints import Interrupted
from hashbench.training.pretraining import Machine

POLL_S = 0.5


@dataclass(frozen=True)
class Failed:
    """How a process of a run ended badly."""

    error: Exception


def run_on_devices(run: Run, assignment: Assignment, machine: Machine) -> Result:
    """Carries out a run on `machine.devices` devices. Raises what one of the processes raised.

    When one of them fails the others are killed: they would wait for it for ever.
    """
    context = get_context("spawn")
    stop = context.Event()
    port = free_port()
    receivers, processes = [], []
    for rank in range(machine.devices):
        receiver, sender = context.Pipe(duplex=False)
        plain = replace(machine, rank=rank, should_stop=None, watch=None)  # neither travels to another process
        process = context.Process(target=rank_process, args=(run, assignment, plain, port, stop, sender))
        process.start()
        sender.close()
        receivers.append(receiver)
        processes.append(process)
    try:
        return gather(receivers, stop, machine)
    finally:
        for process in processes:
            process.kill()
            process.join()


def gather(receivers: list[connection.Connection], stop: StopEvent, machine: Machine) -> Result:
    """Waits for all processes and gives back the first one's result."""
    results: dict[int, Result | Failed] = {}
    while len(results) < len(receivers):
        if machine.should_stop is not None and machine.should_stop.is_set():
            stop.set()
        waiting = {receiver: rank for rank, receiver in enumerate(receivers) if rank not in results}
        for ready in connection.wait(list(waiting), POLL_S):
            rank = waiting[ready]  # type: ignore[index]
            try:
                results[rank] = receivers[rank].recv()
            except EOFError:
                raise RuntimeError(f"the process of device {rank} ended without a result") from None
            outcome = results[rank]
            if isinstance(outcome, Failed):
                raise outcome.error
    first = results[0]
    assert isinstance(first, Result)  # a failure was raised above
    return first


def rank_process(
    run: Run, assignment: Assignment, machine: Machine, port: int, stop: StopEvent, sender: connection.Connection
) -> None:
    """One device's share of a run; Lightning learns from the environment that the processes are there already."""
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(machine.devices),
        "NODE_RANK": "0",
        "LOCAL_RANK": str(machine.rank),
    }
    torch.set_num_threads(assignment.threads)
    materials = Materials(assignment.loaded, assignment.sources, assignment.cache)
    place = Workplace(assignment.loaded, assignment.runs, materials, assignment.cache / "artifacts")
    outcome: Result | Failed
    try:
        outcome = do_run(run, place, replace(machine, should_stop=stop))
    except Interrupted as error:
        outcome = Failed(error)
    except Exception as error:  # told to the parent, which raises it
        outcome = Failed(RuntimeError(f"{type(error).__name__}: {error}"))
    sender.send(outcome)
    sender.close()


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
