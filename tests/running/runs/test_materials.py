"""What a run needs is made once, and again where it was damaged."""

from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.models.coders.lsh import LshBits
from hashbench.models.coders.vocabulary import Vocabulary
from hashbench.models.text.types import TypeTable
from hashbench.running.experiment.load import load_experiment
from hashbench.running.experiment.models import resolve_models
from hashbench.running.runs.materials import Materials, fit_once
from tests.damage import DAMAGES

TABLE = TypeTable.from_counts({"play": 2, "the": 1, "player": 5, "house": 3})


@pytest.mark.parametrize("kind", [LshBits, Vocabulary])
@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_state_of_a_coder_is_fitted_again(
    tmp_path: Path, kind: type[LshBits] | type[Vocabulary], damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    fits = []

    def fitted() -> np.ndarray:
        coder = kind()

        def fit() -> None:
            fits.append(1)
            coder.fit(TABLE)

        fit_once(coder, ["one identity"], fit, tmp_path)
        return coder.encode(["play", "other"])

    codes = fitted()
    assert np.array_equal(fitted(), codes) and len(fits) == 1
    (path,) = tmp_path.glob("*.npz")
    DAMAGES[damage](path)
    assert np.array_equal(fitted(), codes) and len(fits) == 2
    assert str(path) in capsys.readouterr().err


@pytest.mark.parametrize(("budget", "rows"), [(50_000, 391), (800_000, 6_250)])
def test_a_vocabulary_too_small_for_its_budget_is_one_line(tmp_path: Path, budget: int, rows: int) -> None:
    (tmp_path / "a.yaml").write_text(
        f"name: a\ndata: builtin\nencoder: tiny\nbudget: {{embedding_parameters: {budget}}}\n"
        "models: [{name: bpe, like: bert-mlm, objective: none}]\ntasks: [sst2]\n"
        "pretrain: {corpora: [builtin], max_documents: 20}\n"
    )
    model = resolve_models(load_experiment(tmp_path / "a.yaml", []))["bpe"]
    materials = Materials(["builtin"], tmp_path / "cache")
    if budget == 50_000:
        assert materials.texts(model).vocabulary_rows == rows
        return
    with pytest.raises(InputError, match=rf"^model bpe: its budget asks for a vocabulary of {rows:,} rows, but its "):
        materials.texts(model)
