"""The graph as a program of `torch.export` (.pt2), for what is built on torch: ExecuTorch, AOTInductor."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from hashbench.common.errors import InputError
from hashbench.deployment.graph import graph_inputs, trace
from hashbench.deployment.loading import Predictor
from hashbench.deployment.onnx_graph import TOLERANCE, texts_asked
from hashbench.deployment.vectors import texts_to_prove

PROGRAM = "model.pt2"


def write_program(predictor: Predictor, path: Path) -> str:
    """Writes the program and reads it back; a line on how near it is. Raises InputError where it is too far."""
    torch.export.save(trace(predictor).program, path)
    texts = [text for text in texts_to_prove() if len(text) < 200]
    difference = difference_of_program(path, predictor, texts)
    if not difference <= TOLERANCE:
        path.unlink()
        raise InputError(
            f"{predictor.config.name}: not exported: the program's logits are {difference:.1e} from torch's, more than "
            f"{TOLERANCE}; take another model, or report it"
        )
    return f"{path}: {path.stat().st_size:,} bytes; logits within {difference:.1e} of torch's"


def difference_of_program(path: Path, predictor: Predictor, texts: Sequence[str]) -> float:
    """How far the program of a file is from the model on texts, at most."""
    program = torch.export.load(path).module()
    columns, expected = texts_asked(predictor, texts)
    furthest = 0.0
    with torch.inference_mode():
        for batch in predictor.batches(columns, 32):
            assert batch.row_ids is not None
            logits = program(*graph_inputs(predictor, batch)).numpy()
            furthest = max(furthest, float(np.abs(logits - expected[batch.row_ids.numpy()]).max()))
    return furthest
