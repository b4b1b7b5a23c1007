"""A process of `test_equal_devices.py`: the same trainings alone, then with one other, then with two others."""

import contextlib
import faulthandler
import json
import os
import sys
from dataclasses import replace
from pathlib import Path

import torch

from hashbench.running.experiment.recipes import FinetuneRecipe, PretrainRecipe
from hashbench.running.training import finetuning as training
from hashbench.running.training.finetuning import Job, finetune
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import build_model, make_head
from hashbench.running.training.module import Curves
from hashbench.running.training.pretraining import pretrain
from tests.prepared import prepare_model

STEPS, BATCH, ROWS = 20, 8, 41  # the last batch of an epoch of a fine-tuning has one row
DTYPES = {"32": torch.float32, "64": torch.float64}
CASES = ("mlm-32", "mlm-64", "shuffle-32", "cola-64", "cola-parts-32")
RESUMED = "mlm-64"  # again, interrupted in the middle, with both strategies


def trained(case: str, folder: Path, machine: Machine) -> None:
    """Trains by the name of a case: what, perhaps in parts, and in which dtype."""
    what, *parts, dtype = case.split("-")
    sizes = {"micro_batch_size": 2} if parts else {}
    made = prepare_model(folder, "bert-mlm" if what == "mlm" else "hashformer-md-proj")
    spec = made.spec.with_args(encoder={"dropout": 0.0, "attention_dropout": 0.0})
    model = build_model(spec, "tiny", seed=0, vocabulary_rows=made.rows).to(DTYPES[dtype])
    ranks = {"rank": machine.rank, "world_size": machine.devices}
    if what == "cola":
        make_head_of = training.make_head_of
        training.make_head_of = lambda *arguments: make_head_of(*arguments).to(DTYPES[dtype])
        recipe = FinetuneRecipe(steps=STEPS, batch_size=BATCH, learning_rate=1e-3, **sizes)
        data = made.finetuning("cola", rows=ROWS, batch_size=BATCH, **ranks)
        finetune(model, data, Job(spec, recipe, 0), machine=machine)
        training.make_head_of = make_head_of
    else:
        recipe = PretrainRecipe(steps=STEPS, learning_rate=1e-3, warmup_steps=2, batch_size=BATCH, **sizes)
        head = make_head(model, spec.training.objective).to(DTYPES[dtype])
        data = made.pretraining(batch_size=BATCH, **ranks)
        pretrain(model, head, data, recipe, total_steps=STEPS, machine=machine)


class StopAt:
    """A wish to stop once so many losses were seen."""

    def __init__(self, seen: list[float], step: int) -> None:
        self._seen, self._step = seen, step

    def is_set(self) -> bool:
        return len(self._seen) == self._step


def main(folder: Path, rank: int, ports: list[str]) -> None:
    """Writes the losses of all steps of each training that this process took part in."""
    faulthandler.dump_traceback_later(800, exit=True)  # processes that wait for each other say where
    torch.set_num_threads(1)
    seen: list[float] = []
    whole = Curves.add_loss

    def add_loss(self, loss, step):
        seen.append(float(loss.detach().double()))  # as it is, not as the curve's mean rounds it
        whole(self, loss, step)

    Curves.add_loss = add_loss
    losses = {}
    for devices in range(rank + 1, 4):
        if devices > 1:
            os.environ |= {
                "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": ports[devices - 2], "WORLD_SIZE": str(devices),
                "RANK": str(rank), "LOCAL_RANK": str(rank),
            }  # fmt: skip
        for case in CASES:
            seen.clear()
            scratch = folder / f"{case}-{devices}"
            machine = Machine(scratch, device="cpu", devices=devices, rank=rank)
            trained(case, folder, machine)
            losses[f"{case} {devices}"] = seen.copy()
            if case == RESUMED and devices > 1:
                seen.clear()
                machine = replace(machine, folder=folder / f"resumed-{devices}")
                with contextlib.suppress(Interrupted):
                    trained(case, folder, replace(machine, should_stop=StopAt(seen, STEPS // 2)))
                trained(case, folder, machine)
                losses[f"resumed-{case} {devices}"] = seen.copy()
            assert machine.notes.get("devices", "1") == str(devices)
        if devices > 1:
            torch.distributed.destroy_process_group()
    (folder / f"losses-{rank}.json").write_text(json.dumps(losses))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
