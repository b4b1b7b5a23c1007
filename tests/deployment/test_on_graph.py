"""Answers of an exported graph beside those of torch, from files that hashbench wrote and from others."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest

from hashbench.common.errors import InputError
from hashbench.deployment.inputs import check_exported, is_graph
from hashbench.deployment.loading import load
from hashbench.deployment.on_graph import VALUES, load_graph
from hashbench.deployment.onnx_graph import FLOAT, TOLERANCE
from tests.exported import exported_folder, exported_graph

for package in ("onnx", "onnxruntime", "onnxscript"):
    pytest.importorskip(package, reason=f"{package} is not installed")
TEXTS = ["a film", "", "The quick brown fox, jumped!!! over the lazy dogs.", "naïve 東京 😀 " * 9]


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder onnx/ of a small exported model, whose coder was fitted."""
    return exported_graph("hashformer-lsh-emb-1k", tmp_path_factory.mktemp("graph") / "single", is_pair=False)


def test_the_graph_answers_as_torch_does(exported: Path) -> None:
    by_graph, by_torch = load_graph(exported), load(exported.parent)
    assert np.abs(by_graph.outputs(TEXTS) - by_torch.outputs(TEXTS)).max() < TOLERANCE
    assert by_graph.predict(TEXTS) == by_torch.predict(TEXTS)
    for one, other in zip(by_graph.answers(TEXTS), by_torch.answers(TEXTS), strict=True):
        assert one.prediction == other.prediction and one.probabilities is not None
        assert one.probabilities == pytest.approx(other.probabilities, abs=TOLERANCE)
        assert sum(one.probabilities.values()) == pytest.approx(1.0)
        assert by_graph.probabilities(one.text) == pytest.approx(one.probabilities)  # of one text, no list


def test_pairs_are_answered_by_the_graph(tmp_path: Path) -> None:
    folder = exported_graph("hashformer-md-proj", tmp_path / "pair", is_pair=True)
    pairs = [("it rains", "it is wet"), ("", "x " * 60)]
    assert np.abs(load_graph(folder).outputs(pairs) - load(folder.parent).outputs(pairs)).max() < TOLERANCE
    with pytest.raises(TypeError, match="this model reads pairs"):
        load_graph(folder).predict("alone")


def test_several_labels_of_a_text_are_a_list_by_the_graph_and_by_torch(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported.parent, tmp_path / "several")
    config = tmp_path / "several" / "config.json"
    config.write_text(json.dumps(json.loads(config.read_text()) | {"problem_type": "multi_label_classification"}))
    by_graph, by_torch = load_graph(tmp_path / "several" / exported.name), load(tmp_path / "several")
    outputs = by_torch.outputs(TEXTS).astype(np.float64)
    named = [[by_torch.labels[i] for i in np.flatnonzero(row > 0)] for row in outputs]
    shares = [dict(zip(by_torch.labels, row, strict=True)) for row in (1 / (1 + np.exp(-outputs))).tolist()]
    for model in (by_graph, by_torch):
        assert model.predict(TEXTS) == named and model.predict(TEXTS[0]) == named[0]
        for answer, labels, share in zip(model.answers(TEXTS), named, shares, strict=True):
            assert answer.prediction == labels and answer.probabilities == pytest.approx(share, abs=TOLERANCE)


FORGED = {
    "shortest": (10**9, "inputs.shortest: input should be less than"),
    "multiple": (0, "inputs.multiple: input should be greater than"),
    "max_length": ("12", "inputs.max_length: input should be a valid integer"),
    "truncation": ("other", "inputs.truncation: input should be"),
    "graph_codes": ("float64", "inputs.graph_codes: input should be"),
}


@pytest.mark.parametrize("key", list(FORGED))
def test_values_of_a_stranger_are_refused_in_one_line(key: str, exported: Path) -> None:
    value, message = FORGED[key]
    path = exported / VALUES
    before = path.read_text()
    written = json.loads(before)
    written["inputs"][key] = value
    path.write_text(json.dumps(written))
    try:
        with pytest.raises(InputError) as error:
            load_graph(exported)
    finally:
        path.write_text(before)
    assert message in str(error.value) and "\n" not in str(error.value)


def test_an_expression_without_end_is_refused_as_for_torch(exported: Path, tmp_path: Path) -> None:
    shutil.copytree(exported.parent, tmp_path / "copy")
    path = tmp_path / "copy" / "config.json"
    written = json.loads(path.read_text())
    written["spec"]["tokenizer_args"]["pattern"] = "(a+)+b"
    path.write_text(json.dumps(written))
    with pytest.raises(InputError, match="tokenizer_args: a regular expression that may take for ever"):
        load_graph(tmp_path / "copy" / "onnx")


def test_what_is_no_graph_is_one_line(exported: Path, tmp_path: Path) -> None:
    folder = exported_folder("hashformer-md-proj", tmp_path / "plain", small=True) / "onnx"
    folder.mkdir()
    assert not is_graph(folder) and is_graph(exported) and not is_graph(exported.parent)
    with pytest.raises(InputError, match="onnx: is a part of an exported model; name .*plain"):
        check_exported(folder)
    (folder / FLOAT).write_bytes(b"no graph")
    with pytest.raises(InputError, match="onnx: has no text side; name .*plain"):
        load_graph(folder)
    (folder / VALUES).write_text((exported / VALUES).read_text())
    with pytest.raises(InputError, match=rf"{FLOAT}: cannot be used"):
        load_graph(folder)


def test_a_package_that_lacks_is_named_with_the_command_that_installs_it(
    exported: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(InputError, match=r"^onnxruntime is not installed; run: pip install 'hashbench\[export\]'$"):
        load_graph(exported)
