"""Peak memory of one training step, measured in another process."""

from __future__ import annotations

import inspect
import pickle
import tempfile
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Literal

import torch

from hashbench.common.registry import import_file, is_own
from hashbench.common.spawning import SPAWNING
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.running.experiment.recipes import Precision
from hashbench.running.training.devices import autocast, resident_peak, start_of_peak
from hashbench.running.training.model import build_model, make_head


@dataclass(frozen=True)
class MemoryTask:
    """The model, batch and settings that the measuring process receives.

    A user-defined embedding's file is imported there before the spec is unpickled.
    """

    spec: bytes
    own_file: str | None
    size: str
    vocabulary_rows: int | None
    batch: Path
    device: str
    threads: int
    logits: Literal["labels", "all"]
    precision: Precision


def peak_bytes(
    spec: ModelSpec,
    size: str,
    vocabulary_rows: int | None,
    batch: Batch,
    *,
    device: str,
    threads: int,
    logits: Literal["labels", "all"] = "labels",
    precision: Precision = "32",
) -> int:
    """Bytes that the model, its gradients and one pre-training step need beyond the loaded libraries.

    On a GPU: the most that was allocated there.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.pt"
        torch.save(vars(batch), path)
        family = spec.embedding.family
        file = inspect.getfile(family) if is_own(family.__module__) else None
        task = MemoryTask(pickle.dumps(spec), file, size, vocabulary_rows, path, device, threads, logits, precision)
        receiver, sender = SPAWNING.Pipe(duplex=False)
        # a fork would start at this process's peak
        process = SPAWNING.Process(target=_measure, args=(task, sender))
        process.start()
        sender.close()
        try:
            return int(receiver.recv())
        except EOFError:
            process.join()
            raise RuntimeError(f"measuring memory ended with code {process.exitcode}") from None
        finally:
            process.join()


def _measure(task: MemoryTask, sender: Connection) -> None:
    torch.set_num_threads(task.threads)
    if task.own_file is not None:
        import_file(Path(task.own_file))  # gives the class its module before the spec names it
    spec: ModelSpec = pickle.loads(task.spec)
    device = torch.device(task.device)
    batch = Batch(**torch.load(task.batch, weights_only=True)).to(device)
    # Loads the mathematical libraries before the count begins.
    torch.randn(8, 8) @ torch.randn(8, 8)
    before = start_of_peak()
    assert spec.training.objective is not None  # only pre-trained models are measured
    model = build_model(spec, task.size, seed=0, vocabulary_rows=task.vocabulary_rows).to(device)
    head = make_head(model, spec.training.objective).to(device)
    with autocast(model.encoder, task.precision, device):
        loss = head.batch_loss(model, batch, task.logits)
    loss.backward()
    if device.type == "cuda":
        sender.send(torch.cuda.max_memory_allocated(device))
    else:
        sender.send(resident_peak() - before)
    sender.close()
