"""Exported folders of models that nobody trained: what a test of loading or of deployment needs, in a moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file

from hashbench.deployment.description import MULTI_LABEL, Config
from hashbench.deployment.loading import load
from hashbench.deployment.writing import TrainedModel, write
from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import ModelSpec
from hashbench.models.embeddings.registry import find_model, with_dim
from hashbench.models.objectives.heads import classification_head
from hashbench.models.text.base import Tokenizer, make_tokenizer
from hashbench.models.text.types import TypeTable
from hashbench.running.experiment.exported import spec_values
from hashbench.running.training.model import build_model

TEXTS = (
    "The old train leaves the station at noon, and nobody minds.",
    "She didn't find the small green bottle near the river!!!",
    "Please send 12 signed forms before Friday; naïve Éva sends none.",
    "Heavy rain is expected along the coast tonight. 東京 の 天気",
)
LABELS = ("negative", "positive")


def fitted(spec: ModelSpec, texts: Sequence[str] = TEXTS, pieces: int = 0) -> tuple[Tokenizer, Coder]:
    """The tokenizer, of `pieces` pieces, and the coder of a model, learned from texts where they learn."""
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    if tokenizer.needs_training:
        tokenizer.train(texts, pieces or (400 if texts is TEXTS else 3_000))
    coder = make_coder(spec.code.coder, **spec.code.args)
    if not coder.fit_pieces(tokenizer.pieces) and coder.needs_fit:
        coder.fit(TypeTable.from_counts({token: 1 for text in texts for token in tokenizer.tokenize(text)}))
    return tokenizer, coder


def exported_folder(
    name: str, folder: Path, *, size: str = "tiny", small: bool = False, spec: ModelSpec | None = None,
    is_pair: bool = False, n_outputs: int | None = 2, seed: int = 0, texts: Sequence[str] = TEXTS,
    pooling: str | None = None, pieces: int = 0, multi_label: bool = False,
) -> Path:  # fmt: skip
    """A folder as `hashbench export` writes it, with random weights; `small`: of the small model that tests use."""
    spec = (spec or find_model(name)).without_training()
    spec = spec.small() if small else spec
    spec = spec if pooling is None else replace(spec, head=replace(spec.head, pooling=pooling))
    probe = build_model(spec, size, seed=seed)
    spec = with_dim(spec, probe.config.dim)
    tokenizer, coder = fitted(spec, texts, pieces)
    model = build_model(spec, size, seed=seed, vocabulary_rows=coder.num_rows)
    if model.scales is not None:
        model.scales.copy_(torch.tensor([1.0, 0.2]))
    head = None
    if n_outputs is not None:
        width = model.encoder.text_width(2 if is_pair else 1)
        head = classification_head(spec.head, width, n_outputs, multi_label=multi_label)
    parts = {"weights": model, "head": head}
    files = {}
    folder.parent.mkdir(parents=True, exist_ok=True)
    for kind, part in parts.items():
        if part is not None:
            files[kind] = folder.parent / f"{folder.name}-{kind}.safetensors"
            # larger than fresh weights, whose outputs differ in the fifth digit alone
            save_file(
                {
                    key: 4 * each if each.dtype.is_floating_point and each.ndim > 1 else each
                    for key, each in part.state_dict().items()
                },
                files[kind],
            )
    labels = LABELS if n_outputs == 2 else ()
    task = None if n_outputs is None else "rte" if is_pair else "sst2"
    config = Config(
        name, "0" * 64, size, spec_values(spec, size, coder.num_rows), 64, task=task, is_pair=is_pair,
        n_outputs=n_outputs, labels=labels, problem_type=MULTI_LABEL if multi_label else None,
    )  # fmt: skip
    write(TrainedModel(config, spec, tokenizer, coder, files["weights"], files.get("head")), folder)
    return folder


def exported_graph(name: str, folder: Path, *, is_pair: bool) -> Path:
    """The folder onnx/ of a small exported model: its graph and its text side."""
    from hashbench.deployment.onnx_graph import FLOAT, write_graph
    from hashbench.deployment.text_side import write_text_side

    predictor = load(exported_folder(name, folder, small=True, is_pair=is_pair))
    device = folder / "onnx"
    device.mkdir()
    write_graph(predictor, device / FLOAT)
    write_text_side(predictor, device)
    return device
