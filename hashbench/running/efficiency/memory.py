"""Peak memory of one training step, measured in another process."""

from __future__ import annotations

import inspect
import pickle
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Literal

import torch

from hashbench.common.own_files import import_file, is_own
from hashbench.common.spawning import SPAWNING
from hashbench.models.embeddings.base import Batch, ModelSpec
from hashbench.running.experiment.recipes import Precision
from hashbench.running.training.devices import autocast, resident_peak, start_of_peak
from hashbench.running.training.model import build_model, make_head


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
        # a fork would start at this process's peak
        with ProcessPoolExecutor(1, mp_context=SPAWNING) as pool:
            measured = pool.submit(
                _measure, file, pickle.dumps(spec), size, vocabulary_rows, path, device, threads, logits, precision
            )
            return measured.result()


def _measure(
    own_file: str | None,
    pickled: bytes,
    size: str,
    vocabulary_rows: int | None,
    rows: Path,
    kind: str,
    threads: int,
    logits: Literal["labels", "all"],
    precision: Precision,
) -> int:
    """`peak_bytes`, measured in a new process: an own file is imported before the spec, which names its class."""
    torch.set_num_threads(threads)
    if own_file is not None:
        import_file(Path(own_file))
    spec: ModelSpec = pickle.loads(pickled)
    device = torch.device(kind)
    batch = Batch(**torch.load(rows, weights_only=True)).to(device)
    # Loads the mathematical libraries before the count begins.
    torch.randn(8, 8) @ torch.randn(8, 8)
    before = start_of_peak()
    assert spec.training.objective is not None  # only pre-trained models are measured
    model = build_model(spec, size, seed=0, vocabulary_rows=vocabulary_rows).to(device)
    head = make_head(model, spec.training.objective, spec.training.args).to(device)
    with autocast(model.encoder, precision, device):
        loss = head.batch_loss(model, batch, logits)
    loss.backward()
    return torch.cuda.max_memory_allocated(device) if device.type == "cuda" else resident_peak() - before
