"""Claims as sums of models' means with intervals over pages."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from analysis.superbloom import CLAIMS, Claim, contrast, lines_of, main, verdict
from hashbench.experiment.load import load_experiment
from hashbench.retrieval import Difference


def outputs_of(share: float, seed: int) -> np.ndarray:
    """Ranks 1 with a probability, else 30, on 200 pages of five cases."""
    hit = np.random.RandomState(seed).uniform(size=1000) < share
    columns = [np.repeat(np.arange(200), 5), np.where(hit, 1, 30), np.ones(1000), hit, hit]
    return np.stack(columns, 1).astype(np.int32)


FILE = Path(__file__).parents[2] / "experiments/superbloom_entities_tiny.yaml"
OUTPUTS = {name: [outputs_of(share, i) for i in range(3)] for name, share in {"a": 0.5, "b": 0.2, "c": 0.2}.items()}


def test_a_sum_of_means_over_seeds() -> None:
    claim = Claim("", ("a",), ("b",))
    expected = np.mean([each[:, 1] == 1 for each in OUTPUTS["a"]], axis=0) - np.mean(
        [each[:, 1] == 1 for each in OUTPUTS["b"]], axis=0
    )
    assert np.allclose(contrast(OUTPUTS, claim, "rec@1"), expected)
    interaction = Claim("", ("a", "b"), ("b", "c"))
    assert np.allclose(
        contrast(OUTPUTS, interaction, "rec@1"), contrast(OUTPUTS, Claim("", ("a",), ("c",)), "rec@1")
    )


@pytest.mark.parametrize(
    ("low", "high", "above", "said"),
    [(0.1, 0.2, True, "holds"), (-0.2, -0.1, True, "fails"), (-0.1, 0.1, True, "open"), (-0.2, -0.1, False, "holds")],
)
def test_verdicts(low: float, high: float, above: bool, said: str) -> None:
    assert verdict(Difference(0.0, low, high, 1, 1), above) == said


def test_lines_of_claims_whose_models_are_there() -> None:
    claims = (Claim("a above b", ("a",), ("b",)), Claim("without", ("a",), ("nobody",)), Claim("b, c", ("b",), ("c",)))
    lines = lines_of(OUTPUTS, np.arange(1000) % 50, claims)
    assert len(lines) == 4 and lines[0].startswith("a above b ") and lines[0].endswith("holds")
    assert [line.split()[-1] for line in lines[2:]] == ["open", "open"]


def test_the_claims_speak_of_the_experiment_that_comes_with_the_program() -> None:
    experiment = load_experiment(FILE).experiment
    labels = {model if isinstance(model, str) else model.name for model in experiment.models}
    assert {label for claim in CLAIMS for label in (*claim.plus, *claim.minus)} <= labels


def test_without_a_database(tmp_path: object) -> None:
    with pytest.raises(SystemExit, match="no such database"):
        main(["--db", f"{tmp_path}/none.db"])
