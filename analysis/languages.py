"""Does a tokenizer help more where it keeps more words whole? Over the languages of an experiment on SIB-200.

python -m analysis.languages --db example

Printed: Spearman's correlation, over languages, of a difference of mean scores (unicode-k2 minus words-k2) with the
difference of the shares of words that are one token (tokenizer unicode minus words, `languages.csv` beside this file),
and its 95 % interval by a bootstrap over the languages. The languages are few and chosen, and seeds are not drawn.

The shares are those of `hashbench.data.tasks.split_facts.word_tokens` on all splits, with the tokenizers of the
experiment (unicode in version 1); a test makes them again where the texts are at hand.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from hashbench.common.errors import InputError
from hashbench.store.engine import Store, open_results
from hashbench.store.status import find_experiment

SHARES = Path(__file__).with_suffix(".csv")
FIRST, SECOND, EXPERIMENT = "unicode-k2", "words-k2", "languages_tiny"
DRAWS, LEVEL = 10_000, (2.5, 97.5)
FEWEST = 4  # languages of a correlation
SCORES = """
SELECT model, task, AVG(value) AS value FROM scores
WHERE experiment_id = :experiment AND own = 1 AND checkpoint = 'best' GROUP BY model, task
"""


def shares() -> dict[str, tuple[float, float]]:
    """By task the share of words that are one token of unicode, and of words."""
    with SHARES.open(encoding="utf-8") as file:
        return {row["task"]: (float(row["unicode"]), float(row["words"])) for row in csv.DictReader(file)}


def correlation(first: np.ndarray, second: np.ndarray) -> float:
    """Spearman's correlation of (n,) and (n,); NaN where one of them is constant."""
    if not (np.ptp(first) and np.ptp(second)):
        return float("nan")
    return float(spearmanr(first, second).statistic)


def interval(first: np.ndarray, second: np.ndarray, draws: int = DRAWS) -> tuple[float, float]:
    """The 95 % percentile interval of the correlation over draws of the pairs with replacement, by a fixed seed."""
    rows = np.random.default_rng(0).integers(0, len(first), (draws, len(first)))
    values = [correlation(first[drawn], second[drawn]) for drawn in rows]
    low, high = np.nanpercentile(values, LEVEL)
    return float(low), float(high)


def mean_scores(store: Store, name: str) -> dict[str, dict[str, float]]:
    """The mean score over seeds by model and task. Raises InputError where a model has none."""
    experiment = find_experiment(store, name)
    means: dict[str, dict[str, float]] = {FIRST: {}, SECOND: {}}
    for row in store.query(SCORES, experiment=experiment.id):
        if row["model"] in means and row["value"] is not None:
            means[row["model"]][row["task"]] = float(row["value"])
    for model, of_tasks in means.items():
        if not of_tasks:
            raise InputError(f"{store.name}: experiment {experiment.name!r} has no score of {model}; sweep it")
    return means


def lines(store: Store, name: str) -> list[str]:
    """The differences by language and the correlation, as they are printed. Raises InputError for too few languages."""
    means, of_words = mean_scores(store, name), shares()
    tasks = [task for task in of_words if task in means[FIRST] and task in means[SECOND]]
    if len(tasks) < FEWEST:
        raise InputError(f"{store.name}: scores in {len(tasks)} languages; a correlation needs {FEWEST} at least")
    first = np.array([means[FIRST][task] - means[SECOND][task] for task in tasks])
    second = np.array([of_words[task][0] - of_words[task][1] for task in tasks])
    low, high = interval(first, second)
    found = f"Spearman {correlation(first, second):.2f}, 95 % interval over languages {low:.2f} to {high:.2f}"
    return [
        f"{'task':16s}  {FIRST} - {SECOND}  words of one token, unicode - words",
        *(
            f"{task:16s}  {100 * score:+21.1f}  {100 * share:+36.1f}"
            for task, score, share in zip(tasks, first, second, strict=True)
        ),
        f"{found}, n = {len(tasks)}",
    ]


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the correlation; returns the exit code."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    options.add_argument("--db", default="results.db", help="the results, a file or a URL, or example")
    options.add_argument("--experiment", default=EXPERIMENT, help="its name")
    chosen = options.parse_args(arguments)
    try:
        print("\n".join(lines(open_results(chosen.db), chosen.experiment)))
    except InputError as error:
        print(f"languages: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
