"""Published accuracies of language models on minimal pairs: published/minimal_pairs.csv, a row for each paradigm.

BLiMP's are those of Warstadt et al. 2020 as their repository corrected them, of whole sentences ("simple LM method").
"""

from __future__ import annotations

import csv
from collections.abc import Mapping

from hashbench.results.papers.paper import PUBLISHED

FILE = "minimal_pairs.csv"
TASK, PARADIGM = "task", "paradigm"  # columns; the others are models


def published_accuracies(task: str) -> Mapping[str, Mapping[str, float]]:
    """The accuracies, shares of pairs, by model and paradigm; none where nothing is published on the task."""
    rows = csv.DictReader((PUBLISHED / FILE).read_text(encoding="utf-8").splitlines())
    of_task = [row for row in rows if row[TASK] == task]
    models = [name for name in of_task[0] if name not in (TASK, PARADIGM)] if of_task else []
    return {model: {row[PARADIGM]: float(row[model]) for row in of_task} for model in models}
