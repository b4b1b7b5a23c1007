"""Writing a trained model as a folder with a model card, and uploading it to the Hugging Face hub."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from hashbench.common.atomic import atomic_write, replace_text, with_usual_rights
from hashbench.common.errors import InputError, first_line
from hashbench.common.measured import CHOSEN_NOTE, card_lines, plain, searched_values
from hashbench.common.showing import batch_text
from hashbench.common.untrusted import HEAD_PREFIX, MODEL_PREFIX, STATE, TOKENIZER
from hashbench.deployment.config import copy_own_code
from hashbench.deployment.description import CARD, WEIGHTS, Config
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import Counts, ModelSpec
from hashbench.models.layers import on_meta
from hashbench.models.text.base import Tokenizer
from hashbench.results.tables.recipes import NOT_DECLARED
from hashbench.running.training.model import build_model
from hashbench.scores.base import metric_of


@dataclass(frozen=True)
class TrainedModel:
    """A trained model to export: its config and spec, tokenizer and coder, and the files of its weights."""

    config: Config
    spec: ModelSpec
    tokenizer: Tokenizer
    coder: Coder
    weights: Path  # of embedding and encoder
    head: Path | None  # None: a pre-trained model, whose head was dropped


@dataclass(frozen=True)
class Sizes:
    """Parameter counts, as the paper counts and as deployed, and bytes of the written weights."""

    in_paper: Counts
    deployed: Counts
    weight_bytes: int


def write(trained: TrainedModel, folder: Path, *, half: bool = False) -> int:
    """Writes all but the card to an empty or new folder, atomically; returns the bytes of the weights.

    `half`: trained weights are stored as float16, what is fixed as it is.

    Raises:
        InputError: there is something in the folder already, or a weight is too large for float16.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError(f"{folder}: is there already; name a new folder")
    folder = folder.expanduser().absolute()
    tensors = {f"{MODEL_PREFIX}{name}": tensor for name, tensor in load_file(trained.weights).items()}
    if trained.head is not None:
        tensors |= {f"{HEAD_PREFIX}{name}": tensor for name, tensor in load_file(trained.head).items()}
    if half:
        tensors = _in_half_precision(tensors, trained)
    try:
        with atomic_write(folder) as part:
            part.mkdir()
            write_weights(tensors, part)
            write_description(trained, part)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made ({error.strerror}); name another folder") from error
    return (folder / WEIGHTS).stat().st_size


def _in_half_precision(tensors: Mapping[str, Tensor], trained: TrainedModel) -> dict[str, Tensor]:
    """The tensors by name, those of trained parameters as float16."""
    with on_meta():
        model = build_model(trained.spec, trained.config.size, seed=0)
    parameters = {f"{MODEL_PREFIX}{name}" for name, _ in model.named_parameters()}
    smaller = {
        name: tensor.half() for name, tensor in tensors.items() if name in parameters or name.startswith(HEAD_PREFIX)
    }
    for name, tensor in smaller.items():
        if not torch.isfinite(tensor).all():
            raise InputError(f"export --half: {name} has a weight above 65,504, the largest of float16; leave it out")
    return {**tensors, **smaller}


def write_description(trained: TrainedModel, folder: Path) -> None:
    """Writes all but weights and card to a folder: config, tokenizer, state of the coder, a user's code."""
    trained.tokenizer.save(folder / TOKENIZER)
    if trained.coder.state():
        # mypy mistakes the arrays for allow_pickle.
        np.savez(folder / STATE, **trained.coder.state())  # type: ignore[arg-type]
    copy_own_code(trained.spec, folder)
    trained.config.write(folder)


def write_weights(tensors: dict[str, Tensor], folder: Path) -> None:
    """Writes the tensors as the folder's weights, with the usual file permissions."""
    save_file(tensors, folder / WEIGHTS, metadata={"format": "pt"})
    with_usual_rights(folder / WEIGHTS)


def write_card(folder: Path, card: str) -> None:
    """Writes the model card to the folder."""
    replace_text(folder / CARD, card)


PREDICTIONS = ["predict", "probabilities"]  # of a model with classes


@dataclass(frozen=True)
class CardFacts:
    """The facts of a stored run that its model card shows."""

    spec: Mapping[str, Any]  # the run's
    pretrain: Mapping[str, Any] | None  # the spec of its pre-training, None where there was none
    scores: Sequence[Mapping[str, Any]]  # metric, split, value of the exported checkpoint
    constant: Sequence[str]  # the splits on which it predicts one and the same for every text
    # Notes of its attempt: origin of the data, and warnings.
    notes: Mapping[str, str]
    # How recipe values were chosen, as far as the experiment declares it: by name tried, on, by.
    tuned: Mapping[str, Mapping[str, Any]]
    origin: str  # experiment and database
    runs_code: bool = False  # whether the folder has code of a user-defined part


def model_card(config: Config, spec: ModelSpec, facts: CardFacts, sizes: Sizes) -> str:
    """The model card as markdown."""
    parts = [
        f"# {config.name}" + (f" on {config.task}" if config.task else ""),
        spec.summary[:1].upper() + spec.summary[1:] + "." if spec.summary else "",
        _usage(config, facts.runs_code),
        "## Size\n\n" + _sizes(config, spec, sizes),
        "## Training\n\n" + "\n".join(_training(config, facts)),
    ]
    if facts.scores:
        parts.append("## Scores\n\n" + _scores(facts, config.labels))
    parts.append(f"Run {config.run}, {facts.origin}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _usage(config: Config, runs_code: bool) -> str:
    example = '("a text", "the other text of the pair")' if config.is_pair else '"a text"'
    calls = ["embed"] if config.n_outputs is None else ["predict"] if config.n_outputs == 1 else PREDICTIONS
    lines = [f"    model.{call}({example})" for call in calls]
    trusted = ", trust_code=True" if runs_code else ""
    return "\n".join(["    import hashbench", f"    model = hashbench.load(FOLDER{trusted})", *lines]) + (
        f"\n\nA list of {'pairs' if config.is_pair else 'texts'} gives a list."
        + (" `predict` gives the labels with a probability above 0.5, perhaps none." if config.multi_label else "")
        + (" The folder has Python code of the model, which this runs: read it first." if runs_code else "")
    )


def _sizes(config: Config, spec: ModelSpec, sizes: Sizes) -> str:
    frame = spec.origin.frame or "encoder, embedding and head"
    deployed = f"as deployed, with a head of {config.n_outputs or spec.origin.classes} outputs"
    rows = [
        "| frame | parameters | of these in the embedding |",
        "|---|---:|---:|",
        f"| {frame} | {sizes.in_paper.total:,} | {sizes.in_paper.embedding:,} |",
        f"| {deployed} | {sizes.deployed.total:,} | {sizes.deployed.embedding:,} |",
    ]
    return "\n".join(rows) + f"\n\nWeights: {sizes.weight_bytes:,} bytes."


def _training(config: Config, facts: CardFacts) -> list[str]:
    lines: list[str] = []
    searched: list[str] = []
    if facts.pretrain is not None:
        recipe, corpora = facts.pretrain["pretrain"], facts.pretrain["corpus"]["corpora"]
        objective = facts.pretrain["model"]["objective"]["kind"]
        lines.append(
            f"- pre-trained by {objective} on {', '.join(corpus['name'] for corpus in corpora)}: {recipe['steps']:,} "
            f"steps of {batch_text(recipe).rstrip(',')}, "
            f"learning rate {recipe['learning_rate']:g}, seed {facts.pretrain['seed']}"
        )
    if config.task is not None:
        recipe = facts.spec["finetune"]
        chosen = json.loads(facts.notes[CHOSEN_NOTE]) if CHOSEN_NOTE in facts.notes else {}
        used = {key: chosen.get(key, recipe[key]) for key in ("epochs", "batch_size", "learning_rate")}
        rate = used["learning_rate"]
        rates = ", ".join(f"{value:g}" for value in rate) if isinstance(rate, list) else f"{rate:g}"
        lines.append(
            f"- fine-tuned on {config.task}: {used['epochs']} epochs, batches of {used['batch_size']}, "
            f"learning rate {rates}, seed {facts.spec['seed']}; the weights of the best evaluation"
        )
        if lists := searched_values(recipe):
            tried = "; ".join(f"{key} {plain(tuple(values))}" for key, values in lists.items())
            searched.append(f"{tried} searched on a held-out tenth of train")
    if config.commits:
        lines.append(
            f"- read from the hub: {', '.join(f'{name} at {commit}' for name, commit in config.commits.items())}"
        )
    chosen = card_lines(facts.tuned, config.task)
    others = f"all other values: {NOT_DECLARED}" if chosen or searched else NOT_DECLARED
    lines.append(f"- how values were chosen: {'; '.join([*searched, *chosen, others])}")
    lines += [f"- {name}: {text}" for name, text in facts.notes.items() if name in ("origin", "data") and text]
    return lines


def _scores(facts: CardFacts, labels: Sequence[str]) -> str:
    rows = ["| split | metric | score |", "|---|---|---:|"]
    for row in facts.scores:
        value = row["reason"] if row["value"] is None else f"{row['value']:.4f}"
        metric = metric_of(row["metric"])
        number = None if metric is None else metric.counted_class
        of_class = "" if number is None or number >= len(labels) else f" of {labels[number]}"
        rows.append(f"| {row['split']} | {row['metric']}{of_class} | {value} |")
    if facts.constant:
        what, where = "class" if labels else "answer", " and ".join(facts.constant)
        rows += ["", f"**It predicts one {what} for everything on {where}: it learned nothing.**"]
    return "\n".join(rows)


def push(folder: Path, name: str) -> str:
    """Uploads the folder to the repository `name` (OWNER/MODEL), created if missing; returns a line with its address.

    Raises InputError where nobody is logged in, the name is refused, or the hub is out of reach.
    """
    # here: a network client, which most uses never need.
    from huggingface_hub import HfApi

    api = HfApi()
    try:
        address = api.create_repo(name, exist_ok=True)
        commit = api.upload_folder(repo_id=name, folder_path=folder, commit_message="Model exported by hashbench")
    except Exception as error:  # of the hub, or of the network client below it, whose errors have no common class
        remedy = "log in with hf auth login or set HF_TOKEN, and check the name and the network"
        raise InputError(f"--push-to-hub {name}: not uploaded ({first_line(error)[:160]}); {remedy}") from error
    return f"{address}: commit {commit.oid[:8]}"
