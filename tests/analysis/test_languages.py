"""The correlation over languages, against a plain one, and its shares against the texts where these are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from analysis.languages import correlation, interval, main, mean_scores, shares
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, groups, load_task
from hashbench.data.tasks.split_facts import word_tokens
from hashbench.models.text.base import make_tokenizer
from hashbench.store.engine import open_results

HERE = Path(__file__).resolve().parents[2]
FOLDER = Path(os.environ["HASHBENCH_TEST_DATA"] if "HASHBENCH_TEST_DATA" in os.environ else HERE.parent / "shared/data")


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, equal values with the mean of theirs, by counting."""
    return np.array([sum(other < value for other in values) + (sum(values == value) + 1) / 2 for value in values])


def test_the_correlation_is_pearsons_of_ranks() -> None:
    first, second = np.array([3.0, 1.0, 2.0, 2.0, 9.0]), np.array([5.0, 1.0, 2.0, 6.0, 6.0])
    expected = float(np.corrcoef(ranks(first), ranks(second))[0, 1])
    assert correlation(first, second) == pytest.approx(expected, abs=1e-12)
    assert np.isnan(correlation(np.ones(4), second[:4]))
    low, high = interval(first, second, draws=200)
    assert -1 <= low <= expected <= high <= 1 and interval(first, second, draws=200) == (low, high)


def test_the_shares_are_those_of_the_texts() -> None:
    of_words = shares()
    assert list(of_words) == list(groups()["sib200"])
    unicode, words = make_tokenizer("unicode", version=1), make_tokenizer("words")
    for name, expected in of_words.items():
        task = find_task(name)
        if not (FOLDER / task.home).is_dir():
            pytest.skip(f"no {name}: set HASHBENCH_TEST_DATA to a folder with {task.home}/")
        splits = load_task(task, open_sources(str(FOLDER))).splits
        columns = [column for part in splits.values() for column in part.texts]
        shares_here = [word_tokens(columns, tokenizer).share_single for tokenizer in (unicode, words)]
        assert shares_here == pytest.approx(expected, abs=5e-7)


def test_the_stored_results_give_what_the_documentation_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", "example"]) == 0
    printed = capsys.readouterr().out
    assert printed.strip().splitlines()[-1] in (HERE / "docs" / "languages.md").read_text(encoding="utf-8")
    means = mean_scores(open_results("example"), "languages_tiny")
    assert all(len(of_tasks) == 13 for of_tasks in means.values())


def test_results_without_the_models_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--db", "example", "--experiment", "glue_tiny"]) == 2
    error = capsys.readouterr().err.strip()
    assert error.startswith("languages: ") and "no score of" in error and "\n" not in error
