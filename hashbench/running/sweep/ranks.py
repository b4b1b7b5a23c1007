"""One run on several devices, with a process for each device; the first process returns the result.

torchrun starts the processes of this machine (`torch.distributed.launcher`); Ray Train starts the processes of a Ray
cluster (`ray_train.py`). Both set the variables that Lightning reads, and end all processes when one fails.
"""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import threading
import traceback
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import Future, wait
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.queues import SimpleQueue
from pathlib import Path
from typing import Any

import torch
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from hashbench.common.errors import InputError
from hashbench.common.process import outlive_readers
from hashbench.common.progress import Sign, give_signs_to, progress, signs_file
from hashbench.running.runs.base import carry_out
from hashbench.running.sweep.assignment import Assignment, pack, unpack
from hashbench.running.sweep.local import STACKS, WRITE_STACKS
from hashbench.running.sweep.processes import BATCH_SIGNALS
from hashbench.running.training.machine import Interrupted, Machine, Stop, in_thread
from hashbench.store.planning import Run
from hashbench.store.result import Result

POLL_S = 0.2  # between two looks at messages and at the request to stop


@dataclass(frozen=True)
class Failed:
    """The error of one process of a run, as a message to the run's worker."""

    error: Exception


CurvePoint = tuple[dict[str, float], int, int, int]  # values by name, step, steps in all, points before
Message = CurvePoint | Failed | Result | Sign


def run_on_devices(run: Run, assignment: Assignment, machine: Machine) -> Result:
    """Carries out a run on several devices of this machine; returns its result. Raises what a process raised."""
    logging.getLogger("torch.distributed.elastic").setLevel(logging.CRITICAL)  # `gather` raises the errors
    context = get_context("spawn")
    stop, outbox = context.Event(), context.SimpleQueue()
    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=machine.devices,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="localhost:0",
        local_addr="127.0.0.1",
        max_restarts=0,
        monitor_interval=POLL_S,
    )
    # Neither travels to another process.
    plain = replace(machine, should_stop=None, watch=None)
    arguments = (run, pack(assignment), plain, stop, outbox, signs_file())
    launch = in_thread(lambda: elastic_launch(config, share_of_process)(*arguments))

    def arrived() -> Iterable[Message]:
        while not outbox.empty():
            yield outbox.get()

    return gather(launch, arrived, stop.set, machine)


def gather(
    launch: Future[Any], arrived: Callable[[], Iterable[Message]], ask_to_stop: Callable[[], object], machine: Machine
) -> Result:
    """Waits for all processes of a run; returns its result. Raises what a process raised."""
    result: Result | None = None
    failures: list[Exception] = []
    asked_to_stop, over = False, False
    while not over:
        over = bool(wait([launch], POLL_S).done)
        if not asked_to_stop and machine.should_stop is not None and machine.should_stop.is_set():
            ask_to_stop()
            asked_to_stop = True
        for message in arrived():
            if isinstance(message, Failed):
                failures.append(message.error)
            elif isinstance(message, Result):
                result = message
            elif isinstance(message, Sign):
                progress(message.doing, step=message.is_step)
            elif machine.watch is not None:
                machine.watch(*message)
    # Where one fails others may end as interrupted, or not at all.
    for error in sorted(failures, key=lambda error: isinstance(error, Interrupted)):
        raise error
    if result is None:
        raise RuntimeError(f"a process of the run ended without a result{how(launch.exception())}") from None
    return result


def how(error: BaseException | None) -> str:
    """How the processes of a run ended, as the end of a sentence: the first to fail, or the error."""
    if isinstance(error, ChildFailedError):
        rank, failure = error.get_first_failure()
        return f": that of device {rank}, with exit code {failure.exitcode}"
    return "" if error is None else f": {type(error).__name__}: {error}"


def share_of_process(
    run: Run,
    packed: bytes,
    machine: Machine,
    stop: Stop,
    outbox: SimpleQueue[Message],
    signs: Path | None,
) -> None:
    """The main function of a process that torchrun started: carries out one device's share of a run.

    `signs`: the file of signs of progress, in the folder of whoever watches the worker.
    """
    outlive_readers()
    for number in BATCH_SIGNALS:  # its worker, which gets them too, has all processes stop at one step
        signal.signal(number, signal.SIG_IGN)
    give_signs_to(signs)
    if signs is not None:
        faulthandler.register(WRITE_STACKS, file=signs.with_name(STACKS).open("a"), all_threads=True)
    threading.Thread(target=end_with_parent, daemon=True).start()
    carry_out_share(run, unpack(packed), replace(machine, rank=int(os.environ["RANK"])), stop, outbox.put)


def carry_out_share(
    run: Run, assignment: Assignment, machine: Machine, stop: Stop, tell: Callable[[Message], object]
) -> None:
    """Carries out one device's share of a run. Raises what ends it, so that the launcher ends the other processes."""
    torch.set_num_threads(assignment.threads)
    watch = partial(send_point, tell) if machine.rank == 0 else None
    try:
        result = carry_out(run, assignment.workplace(), replace(machine, should_stop=stop, watch=watch))
        if machine.rank == 0:
            tell(result)
    except Interrupted as error:  # all processes stop at the same step
        tell(Failed(error))
    except InputError as error:
        tell(Failed(error))
        raise
    except Exception as error:
        picklable = RuntimeError(f"{type(error).__name__}: {error}")
        picklable.add_note(traceback.format_exc())
        tell(Failed(picklable))
        raise


def send_point(
    tell: Callable[[Message], object], values: dict[str, float], step: int, total_steps: int, before: int
) -> None:
    """Sends a point of a curve to the worker, which shows it."""
    tell((values, step, total_steps, before))


def end_with_parent() -> None:
    """Waits until the worker that started this process is gone, then ends the process."""
    parent = parent_process()
    assert parent is not None  # this is a process of `run_on_devices`
    parent.join()
    os._exit(1)
