"""Exported models as an evaluation takes them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from safetensors.torch import save
from torch import Tensor, nn

from hashbench.common.errors import InputError
from hashbench.data.sources.fingerprints import file_fingerprint
from hashbench.deployment.config import HEAD_PREFIX, MODEL_PREFIX, WEIGHTS
from hashbench.deployment.loading import coder_in, part_of, read_folder, tokenizer_in
from hashbench.running.runs.evaluation import ExportedModel, FinetunedModel


def exported_model(folder: str | Path, *, trust_code: bool = False) -> ExportedModel:
    """The fine-tuned model of an exported folder, to be evaluated. Raises InputError for one without a head."""
    place = Path(folder).expanduser()
    config, spec, model, head, tensors = read_folder(place, trust_code=trust_code)
    if head is None or config.task is None or config.n_outputs is None:
        raise InputError(f"{config.name}: a pre-trained model has no head; export the run of a fine-tuning")
    parts = {
        "weights": _stored_as(model, part_of(tensors, MODEL_PREFIX)),
        "head": _stored_as(head, part_of(tensors, HEAD_PREFIX)),
    }
    return ExportedModel(
        place,
        config.run,
        config.task,
        config.name,
        config.size,
        config.n_outputs,
        config.labels,
        config.is_pair,
        file_fingerprint(place / WEIGHTS),
        parts,
        FinetunedModel(spec, tokenizer_in(spec, place), coder_in(spec, place), model, head, config.max_length),
    )


def _stored_as(module: nn.Module, tensors: Mapping[str, Tensor]) -> str:
    """SHA-256 of a module's tensors as a fine-tuning stores them, without buffers that other libraries need."""
    kept = module.state_dict()
    return hashlib.sha256(save({name: tensor for name, tensor in tensors.items() if name in kept})).hexdigest()
