"""What a run needs is made once, and again where it was damaged."""

from pathlib import Path

import numpy as np
import pytest

from hashbench.coders.lsh import LshBits
from hashbench.coders.vocabulary import Vocabulary
from hashbench.runs.materials import fit_once
from hashbench.text.types import TypeTable
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
