"""A task's reporting sets with perturbed texts, a split for each kind of perturbation and rate."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hashbench.common.progress import progress
from hashbench.data.perturbations.base import WORD, perturbed
from hashbench.data.perturbations.letters import seen_among, with_forms
from hashbench.data.sources.fingerprints import digest
from hashbench.data.tasks.text_data import Split, TaskData
from hashbench.models.text.types import TypeTable
from hashbench.models.text.words import WordTokenizer

UNPERTURBED = ""  # the label of texts as they are


@dataclass(frozen=True)
class PerturbedTask:
    """A task whose splits are its reporting sets under each perturbation, and facts about these texts."""

    data: TaskData
    # Split of `data` -> (reporting set, label: "" or "swap=0.05")
    parts: dict[str, tuple[str, str]]
    facts: dict[tuple[str, str], float]  # (name, label) -> a share or a count

    def labels(self) -> list[str]:
        """The labels of perturbations, as "swap=0.05", each once; first the empty one of unperturbed texts."""
        return list(dict.fromkeys(label for _, label in self.parts.values()))

    def splits_of(self, label: str) -> list[str]:
        """Names of the splits of `data` whose texts have a perturbation, given by its label."""
        return [name for name, (_, split_label) in self.parts.items() if split_label == label]


def perturb_task(data: TaskData, settings: Mapping[str, Any], corpus: TypeTable | None) -> PerturbedTask:
    """The task under each perturbation and rate of `settings` (perturbations, rates with 0, seed).

    `corpus`: types of the words that a pre-training saw; None where there is none.
    """
    reported = data.task.report_splits
    seen = None if corpus is None else _seen(data, corpus)
    splits: dict[str, Split] = {}
    parts: dict[str, tuple[str, str]] = {}
    rates = [rate for rate in settings["rates"] if rate > 0]
    for split in reported:
        splits[split], parts[split] = data.splits[split], (split, UNPERTURBED)
        for kind in settings["perturbations"]:
            progress(f"perturbing {split}", step=False)
            for rate, texts in _columns_at(data.splits[split], kind, rates, settings["seed"], seen).items():
                label = f"{kind}={rate:g}"
                splits[f"{split}~{label}"] = replace(data.splits[split], texts=texts)
                parts[f"{split}~{label}"] = (split, label)
    key = json.dumps([settings, None if corpus is None else corpus.fingerprint], sort_keys=True, default=list)
    task = replace(data.task, select_splits=(), report_splits=tuple(splits))
    perturbed_data = replace(data, task=task, splits=splits, fingerprint=digest("perturbed", data.fingerprint, key))
    perturbed_task = PerturbedTask(perturbed_data, parts, {})
    return replace(perturbed_task, facts=_facts(perturbed_task, corpus))


def _columns_at(
    split: Split, kind: Any, rates: Sequence[float], seed: int, seen: frozenset[str] | None
) -> dict[float, tuple[list[str], ...]]:
    """The text columns of a split under a perturbation, by its rate."""
    columns_at: dict[float, list[list[str]]] = {rate: [] for rate in rates}
    for column in split.texts:
        rows = [perturbed(text, kind, rates, seed=seed, seen=seen) for text in column]
        for place, rate in enumerate(rates):
            columns_at[rate].append([row[place] for row in rows])
    return {rate: tuple(columns) for rate, columns in columns_at.items()}


def _seen(data: TaskData, corpus: TypeTable) -> frozenset[str]:
    """The words of the reporting sets, and forms of them, that occur in the corpus."""
    texts = (text for split in data.task.report_splits for column in data.splits[split].texts for text in column)
    words = frozenset(word.lower() for text in texts for word in WORD.findall(text))
    return seen_among(with_forms(words), corpus)


def _facts(perturbed_task: PerturbedTask, corpus: TypeTable | None) -> dict[tuple[str, str], float]:
    """Numbers about the texts under each label: words, share of changed words, shares of unseen tokens and types."""
    facts: dict[tuple[str, str], float] = {}
    splits = perturbed_task.data.splits
    plain = [WORD.findall(text) for split in perturbed_task.splits_of(UNPERTURBED) for text in _texts(splits[split])]
    total = sum(map(len, plain))
    facts["words", UNPERTURBED] = total
    for label in perturbed_task.labels():
        texts = [text for split in perturbed_task.splits_of(label) for text in _texts(splits[split])]
        if label and total:
            changed = sum(_changed(words, WORD.findall(text)) for words, text in zip(plain, texts, strict=True))
            facts["words_changed", label] = changed / total
        if corpus is not None and texts:
            facts["unseen_tokens", label], facts["unseen_types", label] = _unseen(texts, corpus)
    return facts


def _changed(before: Sequence[str], after: Sequence[str]) -> int:
    """Number of positions at which the words of two texts differ."""
    return sum(a != b for a, b in zip(before, after, strict=False))


def _unseen(texts: Sequence[str], corpus: TypeTable) -> tuple[float, float]:
    """Shares of the texts' tokens and of their types (words and punctuation) that the corpus does not have."""
    interner = WordTokenizer().interner()
    interner.add(list(texts))
    types, _ = interner.finish()
    if not len(types):
        return 0.0, 0.0
    strings = types.strings()
    seen = seen_among(frozenset(strings), corpus)
    missing = [i for i, string in enumerate(strings) if string not in seen]
    return float(types.counts[missing].sum() / types.counts.sum()), len(missing) / len(types)


def _texts(split: Split) -> list[str]:
    return [text for column in split.texts for text in column]
