"""Folders as transformers and sentence-transformers load them, in a process where hashbench cannot be imported."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import hashbench
from hashbench.deployment.library_folder import MODELING, TOKENIZATION, write_library_files
from hashbench.deployment.onnx_graph import GraphFile, outputs_of, write_graph
from hashbench.models.embeddings.registry import find_model
from tests.exported import exported_folder

pytest.importorskip("transformers", reason="transformers is not installed")
TEXTS = ["a film", "Don't STOP!!! 東京 naïve", "x"]
QUICK = ["hashformer-md-proj", "eelbert-tiny"]
OTHERS = ["proformer-k4", "hashformer-md-pool", "canine-c-scratch", "sgnn"]
BLOCKED = """
import json, sys
sys.modules["hashbench"] = None
folder, texts = sys.argv[1], json.loads(sys.argv[2])
"""
LOGITS = (
    BLOCKED
    + """
from transformers import AutoModelForSequenceClassification, AutoTokenizer
tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
model = AutoModelForSequenceClassification.from_pretrained(folder, trust_remote_code=True).eval()
print(json.dumps(model(**tokenizer(texts, return_tensors="pt")).logits.tolist()))
"""
)
SENTENCES = (
    BLOCKED
    + """
from sentence_transformers import SentenceTransformer
print(json.dumps(SentenceTransformer(folder, trust_remote_code=True, device="cpu").encode(texts).tolist()))
"""
)


def asked(script: str, folder: Path, home: Path) -> np.ndarray:
    """What a script of its own process prints last."""
    variables = {"HF_HOME": str(home), "HF_HUB_OFFLINE": "1", "PATH": "/usr/bin:/bin", "PYTHONPATH": ":".join(sys.path)}
    command = [sys.executable, "-c", script, str(folder), json.dumps(TEXTS)]
    done = subprocess.run(command, capture_output=True, text=True, env=variables, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return np.array(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.parametrize("model", [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)])
def test_automodel_gives_the_same_logits(tmp_path: Path, model: str) -> None:
    folder = exported_folder(model, tmp_path / "some_model", small=True)
    expected = hashbench.load(folder).outputs(TEXTS)
    write_library_files(hashbench.load(folder), folder)
    np.testing.assert_allclose(hashbench.load(folder).outputs(TEXTS), expected)  # it is still a folder of hashbench
    np.testing.assert_allclose(asked(LOGITS, folder, tmp_path / "hub"), expected, atol=1e-5)
    for name in (MODELING, TOKENIZATION):
        lines = (folder / name).read_text().splitlines()
        assert not [line for line in lines if line.lstrip().startswith(("from hashbench", "import hashbench"))]
    assert not [path for path in folder.rglob("*") if path.suffix in (".bin", ".pt", ".pkl", ".ckpt")]


def test_a_factor_of_word_vectors_is_part_of_the_folder(tmp_path: Path) -> None:
    """Of a model that began with `initial_spread`; here too hashbench, transformers and ONNX agree."""
    spec = replace(find_model("hashformer-md-proj"), initial_spread="matched")
    folder = exported_folder(spec.name, tmp_path / "some_model", small=True, spec=spec)
    predictor = hashbench.load(folder)
    assert predictor.model.scales is not None and predictor.model.scales.tolist() == pytest.approx([1.0, 0.2])
    assert predictor.spec.initial_spread == "matched"
    expected = predictor.outputs(TEXTS)
    predictor.model.scales.fill_(1.0)
    assert np.abs(predictor.outputs(TEXTS) - expected).max() > 1e-3
    write_library_files(hashbench.load(folder), folder)
    np.testing.assert_allclose(asked(LOGITS, folder, tmp_path / "hub"), expected, atol=1e-5)
    pytest.importorskip("onnxruntime", reason="ONNX Runtime is not installed")
    write_graph(hashbench.load(folder), tmp_path / "model.onnx")
    graph = GraphFile.open(tmp_path / "model.onnx")
    np.testing.assert_allclose(outputs_of(graph, hashbench.load(folder), [TEXTS]), expected, atol=1e-4)


def test_sentence_transformers_gives_the_pooled_states(tmp_path: Path) -> None:
    pytest.importorskip("sentence_transformers", reason="sentence-transformers is not installed")
    folder = exported_folder("hashformer-md-proj", tmp_path / "some_model", small=True, n_outputs=None, pooling="mean")
    expected = hashbench.load(folder).embed(TEXTS)
    write_library_files(hashbench.load(folder), folder)
    np.testing.assert_allclose(asked(SENTENCES, folder, tmp_path / "hub"), expected, atol=1e-5)
