"""One run on several devices or nodes of a Ray cluster.

Ray Train starts, connects and ends its processes together."""

from __future__ import annotations

import os
import tempfile
import threading
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import ray
import ray.train
from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchTrainer

from hashbench.common.cache import named_cache
from hashbench.common.progress import Sign, give_signs_to
from hashbench.running.sweep.assignment import Assignment, pack, unpack
from hashbench.running.sweep.on_ray import connect
from hashbench.running.sweep.ranks import Message, carry_out_share, gather
from hashbench.running.training.machine import Machine, in_thread
from hashbench.store.planning import Run
from hashbench.store.result import Result

ASK_EVERY_S = 1.0  # a process asks so often whether to stop


class Outbox:
    """An actor that passes messages from the processes of a run to its worker, and the request to stop back."""

    def __init__(self) -> None:
        self._messages: list[Message] = []
        self._stop = False

    def put(self, message: Message) -> None:
        """Adds a message of a process."""
        self._messages.append(message)

    def take(self) -> list[Message]:
        """Removes and returns the messages since the last call."""
        taken, self._messages = self._messages, []
        return taken

    def ask_to_stop(self) -> None:
        """Requests all processes to stop at their next step."""
        self._stop = True

    def is_stopping(self) -> bool:
        """True when all processes are to stop."""
        return self._stop


def run_on_cluster(run: Run, assignment: Assignment, machine: Machine, resources: Mapping[str, float]) -> Result:
    """Carries out a run on `machine.devices` devices, spread evenly over `machine.nodes` nodes; returns its result.
    Raises what one of the processes raised.

    `resources`: CPUs and GPUs of a process. Ray starts nothing again: a run that fails is the store's to repeat.
    """
    connect()
    outbox: Any = ray.remote(Outbox).options(num_cpus=0, max_restarts=0).remote()
    plain = replace(machine, should_stop=None, watch=None)
    per_node = machine.devices // machine.nodes
    trainer = TorchTrainer(
        share_of_worker,
        train_loop_config={"run": run, "packed": pack(assignment), "machine": plain, "outbox": outbox},
        scaling_config=ScalingConfig(
            num_workers=machine.devices,
            use_gpu=resources["GPU"] > 0,
            resources_per_worker=dict(resources),
            placement_strategy="STRICT_PACK" if machine.nodes == 1 else "STRICT_SPREAD" if per_node == 1 else "PACK",
        ),
        run_config=RunConfig(
            name=uuid.uuid4().hex,
            storage_path=str(machine.folder / "ray"),
            failure_config=FailureConfig(max_failures=0),
        ),
    )

    def arrived() -> Iterable[Message]:
        messages: list[Message] = ray.get(outbox.take.remote())
        return messages

    try:
        return gather(in_thread(trainer.fit), arrived, partial(outbox.ask_to_stop.remote), machine)
    finally:
        ray.kill(outbox)


def share_of_worker(config: dict[str, Any]) -> None:
    """The main function of a process that Ray Train started: carries out one device's share of a run."""
    machine: Machine = config["machine"]
    per_node = machine.devices // machine.nodes
    if per_node == 1:  # another node for each; Ray Train knows nodes by their address, which may be the same
        os.environ |= {"LOCAL_RANK": "0", "NODE_RANK": os.environ["RANK"]}
    elif int(os.environ["LOCAL_WORLD_SIZE"]) != per_node:
        raise RuntimeError(f"Ray placed {os.environ['LOCAL_WORLD_SIZE']} processes on a node in place of {per_node}")
    os.environ["GROUP_RANK"] = os.environ["NODE_RANK"]  # torchrun's word for it
    outbox, stop = config["outbox"], threading.Event()
    threading.Thread(target=watch_for_stop, args=(outbox, stop), daemon=True).start()
    cache = named_cache()
    assignment = unpack(config["packed"], cache)
    assignment = replace(assignment, cache=cache or assignment.cache)
    machine = replace(machine, rank=ray.train.get_context().get_world_rank())
    # Waits until it has arrived: the process may end right after it.
    carry_out_share(config["run"], assignment, machine, stop, lambda message: ray.get(outbox.put.remote(message)))


def watch_for_stop(outbox: Any, stop: threading.Event) -> None:
    """Waits until the run's worker requests the stop or is gone, and sets `stop`; passes on signs of progress."""
    with tempfile.TemporaryDirectory(prefix="hashbench-", ignore_cleanup_errors=True) as folder:
        signs, passed_on = Path(folder) / "signs", Sign()
        give_signs_to(signs)
        try:
            while not ray.get(outbox.is_stopping.remote()):
                sign = Sign.read(signs)
                if sign != passed_on:
                    ray.get(outbox.put.remote(sign))
                    passed_on = sign
                stop.wait(ASK_EVERY_S)
        finally:
            stop.set()
