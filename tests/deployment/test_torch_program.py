"""The program of torch.export, as it stands in a folder, against the model."""

from __future__ import annotations

from pathlib import Path

import pytest

import hashbench
from hashbench.deployment.forms import PROGRAM, Wishes, deploy, difference_of_program
from hashbench.deployment.onnx_graph import TOLERANCE
from hashbench.deployment.text_side import texts_to_prove
from tests.exported import exported_folder

MODELS = ["hashformer-md-proj", pytest.param("canine-c-scratch", marks=pytest.mark.slow)]


@pytest.mark.parametrize("model", MODELS)
def test_a_program_gives_the_models_logits(model: str, tmp_path: Path) -> None:
    folder = exported_folder(model, tmp_path / "out", small=True, texts=texts_to_prove())
    (line,) = deploy(folder, Wishes(pt2=True), None, lambda message: None)
    assert line.startswith(f"{folder / PROGRAM}: ") and line.endswith("of torch's")
    predictor = hashbench.load(folder)
    texts = ["a film", "", "the old, the new " * 9]
    assert difference_of_program(folder / PROGRAM, predictor, texts) < TOLERANCE
    other = hashbench.load(exported_folder(model, tmp_path / "other", small=True, texts=texts_to_prove(), seed=1))
    assert difference_of_program(folder / PROGRAM, other, texts) > TOLERANCE
