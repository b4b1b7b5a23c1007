"""Scores of sentences by a pre-trained model and the head of its objective, without fine-tuning."""

from __future__ import annotations

import numpy as np
import torch

from hashbench.common.progress import progress
from hashbench.data.tasks.pair_batches import PairSentences
from hashbench.models.objectives.base import Head
from hashbench.running.training.curves import NotFinite
from hashbench.running.training.devices import pick_device
from hashbench.running.training.machine import Interrupted, Machine
from hashbench.running.training.model import Model


def sentence_scores(model: Model, head: Head, sentences: PairSentences, machine: Machine) -> np.ndarray:
    """Of each sentence the sum, mean and minimum of its tokens' log-probabilities, and their number: (n, 4) float64.

    Raises:
        NotFinite: a score is no finite number.
        Interrupted: the machine requests a stop.
    """
    device = torch.device(pick_device(machine.device))
    model, head = model.to(device).eval(), head.to(device).eval()
    sums, least = np.zeros(len(sentences)), np.full(len(sentences), np.inf)
    for batch, of in sentences.batches():
        progress("scores of sentences")
        if machine.should_stop is not None and machine.should_stop.is_set():
            raise Interrupted
        with torch.inference_mode():
            values = head.log_probabilities(model, batch.to(device)).double().cpu().numpy()  # (labels,)
        if not np.isfinite(values).all():
            raise NotFinite("a sentence has a score that is no finite number; the pre-training may have diverged")
        np.add.at(sums, of, values)
        np.minimum.at(least, of, values)
    return np.stack([sums, sums / sentences.n_tokens, least, sentences.n_tokens], axis=1)
