"""One run on several devices of this machine: a process for each, and the first one's result."""

from __future__ import annotations

import os
import socket
import threading
import traceback
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import connection, get_context, parent_process
from multiprocessing.synchronize import Event as StopEvent

import torch

from hashbench.errors import InputError
from hashbench.runs.base import Run
from hashbench.runs.registry import carry_out
from hashbench.store.result import Result
from hashbench.sweep.assignment import Assignment, Parcel
from hashbench.training.checkpoints import Interrupted
from hashbench.training.machine import Machine

POLL_S = 0.5  # between two looks at the request to stop


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
    port, parcel = free_port(), Parcel.of(assignment)
    receivers, processes = [], []
    for rank in range(machine.devices):
        receiver, sender = context.Pipe(duplex=False)
        # Neither travels to another process.
        plain = replace(machine, rank=rank, should_stop=None, watch=None)
        arguments = (run, parcel, plain, port, stop, sender)
        process = context.Process(target=rank_process, args=arguments)
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
    results: dict[int, Result] = {}
    while len(results) < len(receivers):
        if machine.should_stop is not None and machine.should_stop.is_set():
            stop.set()
        waiting = {receiver: rank for rank, receiver in enumerate(receivers) if rank not in results}
        for ready in connection.wait(list(waiting), POLL_S):
            rank = waiting[ready]  # type: ignore[index]
            try:
                message = receivers[rank].recv()
            except EOFError:
                raise RuntimeError(f"the process of device {rank} ended without a result") from None
            if isinstance(message, Failed):
                raise message.error
            if isinstance(message, Result):
                results[rank] = message
            elif machine.watch is not None:
                machine.watch(*message)
    return results[0]


def rank_process(
    run: Run,
    parcel: Parcel,
    machine: Machine,
    port: int,
    stop: StopEvent,
    sender: connection.Connection,
) -> None:
    """One device's share of a run; Lightning learns from the environment that the processes are there already."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    os.environ |= {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "WORLD_SIZE": str(machine.devices),
        "NODE_RANK": "0",
        "LOCAL_RANK": str(machine.rank),
    }
    assignment = parcel.open()
    torch.set_num_threads(assignment.threads)
    outcome: Result | Failed
    watch = partial(send_point, sender) if machine.rank == 0 else None
    try:
        outcome = carry_out(run, assignment.workplace(), replace(machine, should_stop=stop, watch=watch))
    except (Interrupted, InputError) as error:
        outcome = Failed(error)
    except Exception as error:  # told to the parent, which raises it, with where it happened
        error = RuntimeError(f"{type(error).__name__}: {error}")
        error.add_note(traceback.format_exc())
        outcome = Failed(error)
    sender.send(outcome)
    sender.close()


def send_point(sender: connection.Connection, values: dict[str, float], step: int, total_steps: int) -> None:
    """A point of a curve, for the worker that shows it."""
    sender.send((values, step, total_steps))


def end_with_parent() -> None:
    """Ends this process when the worker that started it is gone: nobody is left to take its result."""
    parent = parent_process()
    assert parent is not None  # this is a process of `run_on_devices`
    parent.join()
    os._exit(1)


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
