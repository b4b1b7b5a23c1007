"""An exported model as one graph without control flow, integers (or floats) in, logits or a vector out; in ONNX.

Inputs: `codes` (types, c) of the distinct types of a batch, bits unpacked; `positions` (batch, length) int64 into the
special tokens and, behind them, these types; for pairs of a model with segments also `segments` (batch, length) int64.
Padding is the special token <pad>: no mask is needed. Lengths are multiples of `length_multiple`, or any.

The ONNX file is folded, quantised to int8, and checked against torch on real codes. Dynamic quantisation of ONNX
Runtime: products with weights, and the rows that a table gives. Other large constants (of positions, which are a slice)
are stored as int8 too, one scale a row. Constant products are folded first, or they would not be quantised.
"""

from __future__ import annotations

import io
import logging
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from hashbench.common.errors import InputError, first_line
from hashbench.common.extras import required
from hashbench.deployment.inputs import GRAPHS
from hashbench.deployment.loading import Predictor
from hashbench.deployment.on_graph import session_of
from hashbench.models.coders.base import Coder
from hashbench.models.embeddings.base import PAD, Batch
from hashbench.models.names import Pooling
from hashbench.models.objectives.heads import ClassificationHead, pool
from hashbench.running.training.model import Model

# Sizes of the traced example: at least 2 and all different, since an axis of size 1 would be taken for fixed.
TYPES, ROWS, BLOCKS = 5, 2, 3
LONGEST_INPUT = 512  # tokens, where an encoder has no limit
SHORTEST_INPUT = 3  # tokens of an input, padding included: a word and both its neighbours


class DeployedModel(nn.Module):
    """Model and head in one module, with the inputs of an exported graph."""

    def __init__(self, model: Model, head: ClassificationHead | None, pooling: Pooling, *, of_bits: bool) -> None:
        """Joins the parts. `of_bits`: codes are bits, as bytes 0 and 1."""
        super().__init__()
        self.of_bits = of_bits
        self.model, self.head, self.pooling = model, head, pooling

    def forward(self, codes: Tensor, positions: Tensor, segments: Tensor | None = None) -> Tensor:
        """Codes (n, c), positions (B, L) -> logits (B, outputs), or without a head vectors (B, d)."""
        batch = Batch(codes.float() if self.of_bits else codes, positions, positions != PAD, segments)
        states, mask = self.model.for_head(batch, self.pooling)
        vectors: Tensor = pool(states, mask, self.pooling) if self.head is None else self.head(states, mask)
        return vectors


@dataclass(frozen=True)
class Traced:
    """A traced graph, with the names and allowed lengths of its inputs."""

    program: torch.export.ExportedProgram
    example: tuple[Tensor, ...]  # inputs of the trace
    names: tuple[str, ...]  # of the inputs
    length_multiple: int
    max_length: int


def length_multiple(predictor: Predictor) -> int:
    """The number that divides every allowed input length."""
    return math.lcm(predictor.model.encoder.graph_multiple, predictor.spec.text.template.pad_multiple)


def graph_codes(coder: Coder, codes: Tensor) -> Tensor:
    """Codes (n, c) as the graph takes them: bits unpacked (n, T) uint8, small integers as int32 (n, c)."""
    if coder.bits is not None:
        places = torch.arange(7, -1, -1, dtype=torch.uint8)
        return ((codes[..., None] >> places) & 1).flatten(1)  # (n, T / 8, 8) -> (n, T)
    return codes.int() if codes.dtype == torch.int16 else codes


def graph_inputs(predictor: Predictor, batch: Batch) -> tuple[Tensor, ...]:
    """A batch as inputs of the graph, padded to an allowed length."""
    length = batch.positions.shape[1]
    missing = filled_length(length, length_multiple(predictor)) - length
    positions = nn.functional.pad(batch.positions, (0, missing), value=PAD)  # (B, L)
    codes = graph_codes(predictor.coder, batch.codes)
    if not has_segments(predictor):
        return codes, positions
    segments = torch.zeros_like(batch.positions) if batch.segments is None else batch.segments
    return codes, positions, nn.functional.pad(segments, (0, missing))


def filled_length(length: int, multiple: int) -> int:
    """The length to which a sequence is padded: a multiple of `multiple` that is not below SHORTEST_INPUT.

    >>> filled_length(1, 1), filled_length(5, 4)
    (3, 8)
    """
    return -(-max(length, SHORTEST_INPUT) // multiple) * multiple


def has_segments(predictor: Predictor) -> bool:
    """True if inputs are pairs whose texts have different segment ids."""
    return predictor.config.is_pair and predictor.spec.text.template.segments


def trace(predictor: Predictor) -> Traced:
    """The model as one graph, in which all sizes but the codes' width are dynamic. Raises InputError if torch fails."""
    multiple = length_multiple(predictor)
    example = _example(predictor, multiple)
    of_bits = predictor.coder.bits is not None
    deployed = DeployedModel(predictor.model, predictor.head, predictor.spec.head.pooling, of_bits=of_bits).eval()
    for parameter in deployed.parameters():
        parameter.requires_grad_(False)
    most = (predictor.model.encoder.max_length or max(LONGEST_INPUT, predictor.config.max_length)) // multiple
    predictor.model.encoder.for_graph(most * multiple)
    least = filled_length(1, multiple) // multiple
    blocks = torch.export.Dim("length" if multiple == 1 else "blocks", min=least, max=most)
    length: Any = blocks if multiple == 1 else multiple * blocks
    rows, types = torch.export.Dim("batch"), torch.export.Dim("types")
    sizes = [{0: types}, *({0: rows, 1: length} for _ in example[1:])]
    names = ("codes", "positions", "segments")[: len(example)]
    try:
        with torch.inference_mode(False), torch.no_grad():
            program = torch.export.export(deployed, example, dynamic_shapes=tuple(sizes))
    except Exception as error:  # the tracer has no error class: any operation of a model may stop it
        name = predictor.config.name
        reason = first_line(error)[:200]
        raise InputError(f"{name}: not exported: torch makes no graph of it ({reason}); take another model") from error
    return Traced(program, example, names, multiple, most * multiple)


def _example(predictor: Predictor, multiple: int) -> tuple[Tensor, ...]:
    """Example inputs for the trace, with real codes, so that table indexes are valid, and padding among positions."""
    words = [chr(ord("a") + i) for i in range(TYPES)]
    codes = graph_codes(predictor.coder, torch.from_numpy(predictor.coder.encode(words)))
    specials = len(predictor.spec.text.template.specials)
    length = multiple * BLOCKS
    positions = torch.arange(ROWS * length).view(ROWS, length) % TYPES + specials
    if length > BLOCKS:
        positions[1, -multiple:] = PAD
    segments = (positions.new_ones(ROWS, length),) if has_segments(predictor) else ()
    return codes, positions, *segments


OPSET = 20  # of ONNX: GELU is an operator from here on
FLOAT, INT8 = GRAPHS
LARGE_CONSTANT = 1024  # numbers of a constant that is worth an int8
FOLDED_BYTES = 1 << 31  # of a constant that folding may read or make: any
TOLERANCE = 1e-4  # of logits, beside torch's; a share of the largest where that is above 1


@contextmanager
def quietly() -> Iterator[None]:
    """A context without the warnings, logs and stderr output of exporters."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)


@dataclass(frozen=True)
class GraphFile:
    """An ONNX file with an ONNX Runtime session, by default on one thread."""

    path: Path
    session: Any

    @classmethod
    def open(cls, path: Path, threads: int = 1) -> GraphFile:
        """The graph of a file, ready to run. Raises InputError if ONNX Runtime is not installed."""
        return cls(path, session_of(path, threads))

    def run(self, inputs: Sequence[torch.Tensor]) -> np.ndarray:
        """Logits (B, outputs) of a batch's inputs."""
        names = [argument.name for argument in self.session.get_inputs()]
        logits: np.ndarray = self.session.run(None, {n: t.numpy() for n, t in zip(names, inputs, strict=True)})[0]
        return logits


def write_graph(predictor: Predictor, path: Path) -> Traced:
    """Writes the model as one ONNX file. Raises InputError where a package is missing, or the model has no graph."""
    required("onnx")
    folding = required("onnxscript.optimizer")
    with quietly():
        return _written(predictor, path, folding)


def _written(predictor: Predictor, path: Path, folding: ModuleType) -> Traced:
    """Writes the optimised ONNX file and returns the traced graph, without the checks and silence of `write_graph`."""
    traced = trace(predictor)
    try:
        written = torch.onnx.export(
            traced.program, input_names=traced.names, output_names=("outputs",), opset_version=OPSET, dynamo=True,
            verbose=False,
        )  # fmt: skip
        assert written is not None
        if traced.length_multiple == 1 and predictor.spec.text.template.single[0] != "A":
            without_nan_guards(written.model.graph)
        folding.optimize(written.model, input_size_limit=FOLDED_BYTES, output_size_limit=FOLDED_BYTES)
        written.save(str(path), external_data=False)
        _drop_notes(path)
    except torch.onnx.errors.OnnxExporterError as error:
        name, reason = predictor.config.name, str(error).split("\n")[0][:200]
        raise InputError(f"{name}: not exported: ONNX has no graph of it ({reason}); take another model") from error
    return traced


def _drop_notes(path: Path) -> None:
    """Removes torch's notes from a graph: where each node comes from and the shapes between, 1 KB a node."""
    onnx = required("onnx")
    model = onnx.load(path)
    graph = model.graph
    for part in (model, graph, *graph.node, *graph.initializer, *graph.input, *graph.output):
        del part.metadata_props[:]
        part.ClearField("doc_string")
    del graph.value_info[:]
    onnx.save(model, path)


def without_nan_guards(graph: Any) -> int:
    """Removes torch's guards behind a softmax, which give zeros for fully masked rows; returns their number.

    No row is fully masked where every input begins with a special token that all others see.
    """
    guards = [
        node
        for node in graph
        if node.op_type == "Where"
        and (test := node.inputs[0].producer()) is not None
        and test.op_type == "IsNaN"
        and test.inputs[0] is node.inputs[2]
    ]
    for node in guards:
        node.outputs[0].replace_all_uses_with(node.inputs[2])
    return len(guards)


def write_int8(source: Path, path: Path) -> None:
    """Writes a graph with int8 weights in place of its float32 ones."""
    quantisation = required("onnxruntime.quantization")
    onnx = required("onnx")
    exact = numbering(onnx.load(source))
    with quietly(), TemporaryDirectory() as folder:
        quantised = Path(folder) / "products.onnx"
        quantisation.quantize_dynamic(
            source, quantised, op_types_to_quantize=["MatMul", "Gather"], weight_type=quantisation.QuantType.QInt8,
            nodes_to_exclude=[node.name for node in exact],
            # Seven bits: sums of products of eight overflow 16 bits on processors with AVX2 alone.
            reduce_range=True,
            extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
        )  # fmt: skip
        model = onnx.load(quantised)
    _store_rest_as_int8(model, keep={name for node in exact for name in node.input})
    onnx.save(model, path)


def numbering(model: Any) -> list[Any]:
    """The nodes whose results are cast to integers, such as table rows computed from bits, which must stay exact."""
    onnx = required("onnx")
    whole = (onnx.TensorProto.INT64, onnx.TensorProto.INT32)
    casts = [
        node
        for node in model.graph.node
        if node.op_type == "Cast" and any(field.name == "to" and field.i in whole for field in node.attribute)
    ]
    made_whole = {name for node in casts for name in node.input}
    return [node for node in model.graph.node if made_whole & set(node.output)]


def _store_rest_as_int8(model: Any, keep: set[str]) -> None:
    """Replaces large float32 constants, except `keep`, by int8 ones with a scale a row and a DequantizeLinear node."""
    onnx = required("onnx")
    for tensor in [tensor for tensor in model.graph.initializer if _is_large(tensor) and tensor.name not in keep]:
        values = onnx.numpy_helper.to_array(tensor)  # (n, ...)
        rows = values.reshape(len(values), -1)
        scales = np.maximum(np.abs(rows).max(1), 1e-12) / 127.0  # (n,)
        small = np.round(rows / scales[:, None]).astype(np.int8).reshape(values.shape)
        name = tensor.name
        parts = {f"{name}_int8": small, f"{name}_scale": scales.astype(np.float32)}
        model.graph.initializer.remove(tensor)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(part, key) for key, part in parts.items())
        node = onnx.helper.make_node("DequantizeLinear", list(parts), [name], axis=0)
        model.graph.node.insert(0, node)


def _is_large(tensor: Any) -> bool:
    onnx = required("onnx")
    is_float = tensor.data_type == onnx.TensorProto.FLOAT
    return is_float and len(tensor.dims) > 1 and int(np.prod(tensor.dims)) > LARGE_CONSTANT


def outputs_of(graph: GraphFile, predictor: Predictor, columns: Sequence[Sequence[str]], rows: int = 32) -> np.ndarray:
    """A graph's outputs (n, outputs) for columns of texts, encoded by the predictor's tokenizer and coder."""
    parts: list[tuple[np.ndarray, np.ndarray]] = []
    for batch in predictor.batches(columns, rows):
        assert batch.row_ids is not None
        parts.append((batch.row_ids.numpy(), graph.run(graph_inputs(predictor, batch))))
    outputs = np.empty((len(columns[0]), parts[0][1].shape[1]), np.float32)
    for places, values in parts:
        outputs[places] = values
    return outputs


def largest_difference(graph: GraphFile, predictor: Predictor, texts: Sequence[str]) -> float:
    """The largest difference between the graph's outputs and torch's on texts."""
    columns, expected = texts_asked(predictor, texts)
    return float(np.abs(outputs_of(graph, predictor, columns) - expected).max())


def is_near(difference: float, predictor: Predictor, texts: Sequence[str]) -> bool:
    """True if a difference from torch's outputs on texts is within TOLERANCE, for large outputs in proportion."""
    if difference <= TOLERANCE:
        return True
    return difference <= TOLERANCE * float(np.abs(texts_asked(predictor, texts)[1]).max())


def texts_asked(predictor: Predictor, texts: Sequence[str]) -> tuple[list[list[str]], np.ndarray]:
    """The texts as columns, paired with their reversals for a model of pairs, and torch's outputs (n, outputs)."""
    columns = [list(texts)]
    inputs: Sequence[Any] = columns[0]
    if predictor.config.is_pair:
        columns.append([text[::-1] for text in texts])
        inputs = list(zip(*columns, strict=True))
    return columns, predictor.embed(inputs) if predictor.head is None else predictor.outputs(inputs)
