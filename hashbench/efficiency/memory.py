"""Peak memory of one training step, measured in a process of its own."""

from __future__ import annotations

import multiprocessing
import resource
import sys
import tempfile
from pathlib import Path

import torch

from hashbench.embeddings.base import Batch, ModelSpec
from hashbench.training.heads import make_head, objective_loss
from hashbench.training.model import build_model


def peak_bytes(
    spec: ModelSpec, size: str, vocabulary_rows: int | None, batch: Batch, *, device: str, threads: int
) -> int:
    """Bytes that the model, its gradients and one pre-training step need beyond the loaded libraries.

    On a GPU: the most that was allocated there.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "batch.pt"
        torch.save(vars(batch), path)
        context = multiprocessing.get_context("spawn")  # a fork would start at this process's peak
        receiver, sender = context.Pipe(duplex=False)
        process = context.Process(
            target=_measure, args=(spec, size, vocabulary_rows, path, device, threads, sender)
        )
        process.start()
        sender.close()
        try:
            return int(receiver.recv())
        except EOFError:
            raise RuntimeError(f"measuring memory ended with code {process.exitcode}") from None
        finally:
            process.join()


def _measure(
    spec: ModelSpec,
    size: str,
    vocabulary_rows: int | None,
    path: Path,
    device_name: str,
    threads: int,
    sender: multiprocessing.connection.Connection,
) -> None:
    torch.set_num_threads(threads)
    device = torch.device(device_name)
    batch = Batch(**torch.load(path, weights_only=True)).to(device)
    torch.randn(8, 8) @ torch.randn(8, 8)  # loads the mathematical libraries before the count begins
    before = _resident_peak()
    assert spec.objective is not None  # only pre-trained models are measured
    model = build_model(spec, size, seed=0, vocabulary_rows=vocabulary_rows).to(device)
    head = make_head(model, spec.objective).to(device)
    objective_loss(model, head, model(batch), batch, "labels").backward()
    if device.type == "cuda":
        sender.send(torch.cuda.max_memory_allocated(device))
    else:
        sender.send(_resident_peak() - before)
    sender.close()


def _resident_peak() -> int:
    """The largest resident size of this process so far, in bytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak
