"""Graphs in ONNX Runtime against torch, on codes of every range; and what int8 must leave exact."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

import hashbench
from hashbench.deployment.loading import load
from hashbench.deployment.onnx_graph import (
    TOLERANCE,
    GraphFile,
    _is_large,
    filled_length,
    graph_inputs,
    largest_difference,
    length_multiple,
    numbering,
    write_graph,
    write_int8,
)
from hashbench.deployment.text_side import texts_to_prove
from hashbench.models.embeddings.base import Batch, EncoderSpec
from hashbench.models.embeddings.registry import find_model
from hashbench.models.encoders.base import find_architecture
from tests.exported import exported_folder

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
pytest.importorskip("onnxscript", reason="onnxscript is not installed")

QUICK = ["hashformer-md-proj", "hashformer-md-pool", "hashformer-md-emb-1k", "pqrnn-tiny"]
OTHERS = [
    "hashformer-md-add", "hashformer-lsh-proj", "bert-mlm", "bert-tiny", "bert-tiny-random-hash", "eelbert-tiny",
    "proformer-glue", "proformer-k4", "sgnn", "canine-c-scratch", "hash-emb-k2", "multi-hash", "fasttext-buckets",
    "floret-buckets-2", "tfree-8k", "byte-ngrams", "dhe-small", "qr-hash-mult", "qr-bpe", "low-rank-bpe",
    "character-cnn", "bytes", "bigram-hash-emb", "bigram-bpe", "longcat-md-proj", "longcat-bpe", "over-encoding-bpe",
    "engram-input-md-proj", "engram-input-sum-bpe", "multi-hash-linear", "floret-narrow", "ternary-dense", "prado",
]  # fmt: skip
FAMILIES = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in OTHERS)]
TEXTS = [
    "a film",
    "",
    "The quick brown fox, jumped!!! over the lazy dogs.",
    "naïve 東京 😀 " * 9,
    *texts_to_prove()[40:80],
]


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A function from a model's name to its predictor and its graph, made once."""
    root, known = tmp_path_factory.mktemp("graphs"), {}

    def make(name: str):
        if name not in known:
            predictor = hashbench.load(exported_folder(name, root / name, small=True, texts=texts_to_prove()))
            write_graph(predictor, root / f"{name}.onnx")
            known[name] = predictor, GraphFile.open(root / f"{name}.onnx")
        return known[name]

    return make


@pytest.mark.parametrize("model", FAMILIES)
def test_a_graph_gives_torchs_logits(made, model: str) -> None:
    predictor, graph = made(model)
    spread = predictor.outputs(TEXTS).std(axis=0).max()
    assert spread > 10 * largest_difference(graph, predictor, TEXTS)  # the texts tell right from wrong
    assert largest_difference(graph, predictor, TEXTS) < TOLERANCE


@pytest.mark.parametrize("model", ["hashformer-md-emb-1k", pytest.param("bert-tiny", marks=pytest.mark.slow)])
def test_every_row_of_a_table_is_read_where_torch_reads_it(made, model: str) -> None:
    """All rows that a code may name, the last ones included."""
    predictor, graph = made(model)
    rows = predictor.model.embedding.output_matrix().shape[0]
    for start in range(0, rows, 50):
        codes = torch.arange(start, min(start + 50, rows))[:, None]
        positions = torch.arange(len(codes))[None] + len(predictor.spec.text.template.specials)
        batch = Batch(codes, positions, torch.ones_like(positions, dtype=torch.bool))
        with torch.inference_mode():
            expected = predictor.head(predictor.model(batch)).numpy()
        np.testing.assert_allclose(graph.run(graph_inputs(predictor, batch)), expected, atol=TOLERANCE)


@pytest.mark.parametrize("model", FAMILIES)
def test_a_graph_has_no_control_flow_and_takes_any_size(made, model: str) -> None:
    predictor, graph = made(model)
    kinds = {node.op_type for node in onnx.load(graph.path).graph.node}
    assert not kinds & {"If", "Loop", "Scan", "SequenceMap"}
    # torch's guards of rows without any token are left where there may be such a row
    may_be_empty = length_multiple(predictor) > 1 or predictor.spec.text.template.single[0] == "A"
    assert "IsNaN" not in kinds or may_be_empty
    one, many = ["x"], ["x y z"] * 7
    assert largest_difference(graph, predictor, one) < TOLERANCE > largest_difference(graph, predictor, many)


@pytest.mark.parametrize("model", FAMILIES)
def test_int8_is_smaller_and_near(made, model: str, tmp_path: Path) -> None:
    predictor, graph = made(model)
    write_int8(graph.path, tmp_path / "int8.onnx")
    small = GraphFile.open(tmp_path / "int8.onnx")
    assert small.path.stat().st_size < graph.path.stat().st_size
    spread = predictor.outputs(TEXTS).std(axis=0).max()
    assert largest_difference(small, predictor, TEXTS) < max(0.5 * spread, 0.02)


def test_numbers_that_bits_spell_stay_exact(made, tmp_path: Path) -> None:
    """Pool's product of bits and powers of two is a row of its codebook."""
    _, graph = made("hashformer-md-pool")
    model = onnx.load(graph.path)
    exact = numbering(model)
    assert [node.op_type for node in exact] == ["MatMul"]
    write_int8(graph.path, tmp_path / "int8.onnx")
    powers = next(each for each in model.graph.initializer if each.name in exact[0].input)
    kept = {each.name: each for each in onnx.load(tmp_path / "int8.onnx").graph.initializer}
    np.testing.assert_array_equal(onnx.numpy_helper.to_array(kept[powers.name]), onnx.numpy_helper.to_array(powers))


def test_weights_of_products_are_int8_whether_torch_folds_them_or_not(made, tmp_path: Path) -> None:
    """Proj's unit rows are computed from its weight: folded, or they would stay float32."""
    _, graph = made("hashformer-md-proj")
    write_int8(graph.path, tmp_path / "int8.onnx")
    kinds = [node.op_type for node in onnx.load(tmp_path / "int8.onnx").graph.node]
    assert "MatMul" not in [
        node.op_type
        for node in onnx.load(tmp_path / "int8.onnx").graph.node
        if any(name in {each.name for each in onnx.load(graph.path).graph.initializer} for name in node.input)
    ]
    assert kinds.count("MatMulInteger") >= 5


def test_lengths_are_filled_up(made) -> None:
    predictor, _ = made("hashformer-md-proj")
    assert length_multiple(predictor) == 1
    assert [filled_length(n, 4) for n in (1, 4, 5, 128)] == [4, 4, 8, 128]


@pytest.mark.parametrize("is_pair", [False, True])
def test_averaged_words_are_a_graph_in_which_a_text_may_be_empty(tmp_path: Path, is_pair: bool) -> None:
    spec = replace(find_model("hash-emb-k2").small(), encoder=EncoderSpec("average", {"dim": 16}))
    folder = exported_folder(
        "mean", tmp_path / "out", spec=find_architecture("average").of_model(spec), is_pair=is_pair
    )
    predictor = load(folder)
    write_graph(predictor, tmp_path / "model.onnx")
    graph = GraphFile.open(tmp_path / "model.onnx")
    assert largest_difference(graph, predictor, ["", "a good film", "x", "Don't STOP!!! 東京"]) < 1e-5
    write_int8(tmp_path / "model.onnx", tmp_path / "int8.onnx")
    assert largest_difference(GraphFile.open(tmp_path / "int8.onnx"), predictor, ["", "a good film"]) < 0.05


def test_large_tables_and_filters_become_int8_and_small_or_flat_constants_stay() -> None:
    shapes = {"table": (64, 32), "filter": (32, 8, 5), "small": (32, 32), "flat": (5000,)}
    numbers = [onnx.numpy_helper.from_array(np.ones(shape, np.float32), name) for name, shape in shapes.items()]
    numbers.append(onnx.numpy_helper.from_array(np.ones((64, 32), np.int64), "whole"))
    assert [number.name for number in numbers if _is_large(number)] == ["table", "filter"]
