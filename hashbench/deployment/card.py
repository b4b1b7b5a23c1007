"""The model card of an exported run, filled from the store: what it is, what it was trained on, how it scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hashbench.common.declared import card_lines
from hashbench.deployment.config import Config
from hashbench.deployment.writing import Sizes
from hashbench.models.embeddings.base import ModelSpec
from hashbench.results.tables.recipes import NOT_DECLARED

PREDICTIONS = ["predict", "probabilities"]  # of a model with classes


@dataclass(frozen=True)
class CardFacts:
    """The facts of a run that the store holds."""

    spec: Mapping[str, Any]  # the run's
    pretrain: Mapping[str, Any] | None  # the spec of its pre-training, None where there was none
    scores: Sequence[Mapping[str, Any]]  # metric, split, value of the exported checkpoint
    # Of its attempt: origin of the data, and warnings.
    notes: Mapping[str, str]
    # How recipe values were chosen, as far as the experiment declares it: by name tried, on, by.
    tuned: Mapping[str, Mapping[str, Any]]
    origin: str  # experiment and database


def model_card(config: Config, spec: ModelSpec, facts: CardFacts, sizes: Sizes) -> str:
    """The card as markdown."""
    parts = [
        f"# {config.name}" + (f" on {config.task}" if config.task else ""),
        spec.summary[:1].upper() + spec.summary[1:] + "." if spec.summary else "",
        _usage(config),
        "## Size\n\n" + _sizes(config, spec, sizes),
        "## Training\n\n" + "\n".join(_training(config, facts)),
    ]
    if facts.scores:
        parts.append("## Scores\n\n" + _scores(facts))
    parts.append(f"Run {config.run}, {facts.origin}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _usage(config: Config) -> str:
    example = '("a text", "the other text of the pair")' if config.is_pair else '"a text"'
    calls = ["embed"] if config.n_outputs is None else ["predict"] if config.n_outputs == 1 else PREDICTIONS
    lines = [f"    model.{call}({example})" for call in calls]
    return "\n".join(["    import hashbench", "    model = hashbench.load(FOLDER)", *lines]) + (
        f"\n\nA list of {'pairs' if config.is_pair else 'texts'} gives a list."
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
    lines = []
    if facts.pretrain is not None:
        recipe, corpora = facts.pretrain["pretrain"], facts.pretrain["corpus"]["corpora"]
        objective = facts.pretrain["model"]["objective"]["kind"]
        lines.append(
            f"- pre-trained by {objective} on {', '.join(corpus['name'] for corpus in corpora)}: {recipe['steps']:,} "
            f"steps of {recipe['batch_size']} sequences of {recipe['sequence_length']} tokens, "
            f"learning rate {recipe['learning_rate']:g}, seed {facts.pretrain['seed']}"
        )
    if config.task is not None:
        recipe, rate = facts.spec["finetune"], facts.spec["finetune"]["learning_rate"]
        rates = ", ".join(f"{value:g}" for value in rate) if isinstance(rate, list) else f"{rate:g}"
        lines.append(
            f"- fine-tuned on {config.task}: {recipe['epochs']} epochs, batches of {recipe['batch_size']}, "
            f"learning rate {rates}, seed {facts.spec['seed']}; the weights of the best evaluation"
        )
    chosen = card_lines(facts.tuned, config.task)
    lines.append(f"- how values were chosen: {'; '.join([*chosen, f'all other values: {NOT_DECLARED}'])}")
    lines += [f"- {name}: {text}" for name, text in facts.notes.items() if name in ("origin", "data") and text]
    return lines


def _scores(facts: CardFacts) -> str:
    rows = ["| split | metric | score |", "|---|---|---:|"]
    for row in facts.scores:
        value = row["reason"] if row["value"] is None else f"{row['value']:.4f}"
        rows.append(f"| {row['split']} | {row['metric']} | {value} |")
    return "\n".join(rows)
