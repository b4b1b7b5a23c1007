"""What every registered model promises, checked by its being registered."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor, nn

from hashbench.models.coders.base import Coder, make_coder
from hashbench.models.embeddings.base import PAD, SPECIALS, START, Batch, Embedding, EncoderSpec, ModelSpec, stored
from hashbench.models.embeddings.registry import build_embedding, models
from hashbench.models.encoders.base import Encoder, make_encoder
from hashbench.models.text.types import TypeTable
from hashbench.running.efficiency.parameters import count

KNOWN = ["the", "play", "plays", ",", "cat", "cats", "naïve", "日本", "tact", "Ġword"]
STRANGE = ["", "zzzzqqqq", "🙂🙃", "x" * 100_000, "a\x00b", "\ufffd", "Ünïcödé", " ", "<s>"]
NAMES = list(models())
# Codes of the same fitted coder in another process, whose hash seed differs.
CODES_ELSEWHERE = """
import sys
from hashbench.models.embeddings.registry import find_model
from tests.models.embeddings.test_contract import KNOWN, fitted
for name in sys.argv[1:]:
    print(name, fitted(find_model(name).small()).encode(KNOWN).tobytes().hex())
"""


def fitted(spec: ModelSpec) -> Coder:
    """The coder of a spec, fitted on KNOWN where it has something to fit."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.needs_fit:
        coder.fit(TypeTable.from_counts({string: 9 - index // 2 for index, string in enumerate(KNOWN)}))
    return coder


def assembled(spec: ModelSpec) -> tuple[Embedding, Encoder]:
    """Embedding and encoder of a small spec in evaluation mode, the same weights each time."""
    torch.manual_seed(0)
    encoder = make_encoder(spec.encoder.kind, "tiny", **spec.encoder.args)
    return build_embedding(spec, encoder.config.dim).eval(), encoder.eval()


def batch_of(codes: Tensor, *, padding: int = 0) -> Batch:
    """Two rows over all types, the second half as long; `padding` more columns of padding."""
    n, first = len(codes), len(SPECIALS)
    row = torch.cat([torch.tensor([START]), torch.arange(first, first + n), torch.tensor([2])])
    positions = torch.full((2, n + 2 + padding), PAD)
    positions[0, : n + 2] = row
    positions[1, : n // 2] = row.flip(0)[: n // 2]
    return Batch(codes, positions, positions != PAD)


def states(parts: tuple[Embedding, Encoder], batch: Batch) -> Tensor:
    embedding, encoder = parts
    result: Tensor = encoder(embedding(batch), embedding.vectors_mask(batch.mask), batch.segments)
    return result


def codes_of(spec: ModelSpec, strings: list[str]) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(fitted(spec).encode(strings)))


def distinct() -> dict[str, ModelSpec]:
    """The small models that differ in what is tested here, by the name of the first of each: 63 of 98."""
    first: dict[str, str] = {}
    for name, spec in models().items():
        small = spec.small()
        parts = (small.text, small.code, small.embedding, small.encoder, small.head, small.origin.classes)
        first.setdefault(repr(parts), name)
    return {name: models()[name].small() for name in first.values()}


DISTINCT = distinct()


@pytest.fixture(params=DISTINCT)
def spec(request: pytest.FixtureRequest) -> ModelSpec:
    """Each distinct small model."""
    return DISTINCT[request.param]


def test_every_registered_model_is_small_or_equals_one_that_is_tested() -> None:
    assert 55 <= len(DISTINCT) <= len(NAMES)
    assert {spec.code.coder for spec in DISTINCT.values()} == {spec.code.coder for spec in models().values()}
    families = {family for spec in models().values() for family in spec.embedding.families()}
    assert {family for spec in DISTINCT.values() for family in spec.embedding.families()} == families


def test_a_code_depends_on_its_string_alone(spec: ModelSpec) -> None:
    coder, strings = fitted(spec), KNOWN + STRANGE
    together = coder.encode(strings)
    assert np.array_equal(coder.encode(strings[::-1])[::-1], together)
    assert np.array_equal(np.concatenate([coder.encode([string]) for string in strings]), together)


def test_a_code_has_the_shape_that_the_coder_names(spec: ModelSpec) -> None:
    coder = fitted(spec)
    codes = coder.encode(KNOWN)
    assert codes.shape == (len(KNOWN), coder.width) and codes.dtype == coder.dtype


def test_a_restored_coder_gives_the_same_codes(spec: ModelSpec) -> None:
    coder, other = fitted(spec), make_coder(spec.code.coder, **spec.code.args)
    other.restore(coder.state())
    assert np.array_equal(other.encode(KNOWN + STRANGE), coder.encode(KNOWN + STRANGE))
    assert other.fingerprint() == coder.fingerprint()


@pytest.mark.e2e
def test_codes_are_the_same_in_another_process() -> None:
    here = {name: fitted(models()[name].small()).encode(KNOWN).tobytes().hex() for name in NAMES}
    command = [sys.executable, "-c", CODES_ELSEWHERE, *NAMES]
    paths = os.pathsep.join(path for path in sys.path if path)
    found = subprocess.run(
        command, env={**os.environ, "PYTHONHASHSEED": "123", "PYTHONPATH": f".{os.pathsep}{paths}"},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert dict(line.split() for line in found.stdout.splitlines()) == here


def test_strange_types_have_finite_vectors(spec: ModelSpec) -> None:
    vectors = assembled(spec)[0].embed_types(codes_of(spec, KNOWN + STRANGE))
    assert vectors.shape[0] == len(KNOWN + STRANGE) and bool(torch.isfinite(vectors).all())


def test_a_vector_does_not_depend_on_the_batch(spec: ModelSpec) -> None:
    embedding, codes = assembled(spec)[0], codes_of(spec, KNOWN)
    together = embedding.embed_types(codes)
    alone = torch.cat([embedding.embed_types(codes[i : i + 1]) for i in range(len(codes))])
    torch.testing.assert_close(alone, together, atol=1e-6, rtol=1e-5)


def test_gradients_reach_every_trained_parameter_and_no_frozen_one(spec: ModelSpec) -> None:
    """In the first two steps: what is multiplied with rows that begin at 0 learns from the second on."""
    parts, moved = assembled(spec), set()
    modules = nn.ModuleList(parts)
    trained = {name: each for name, each in modules.named_parameters() if each.requires_grad}
    optimizer = torch.optim.SGD(trained.values(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        states(parts, batch_of(codes_of(spec, KNOWN))).square().sum().backward()
        moved |= {name for name, each in trained.items() if each.grad is not None and bool(each.grad.any())}
        optimizer.step()
    assert set(trained) == moved
    assert all(parameter.grad is None for parameter in modules.parameters() if not parameter.requires_grad)


def test_saved_and_loaded_weights_give_equal_states(spec: ModelSpec) -> None:
    parts, batch = assembled(spec), batch_of(codes_of(spec, KNOWN))
    torch.manual_seed(99)
    others = build_embedding(spec, 16), make_encoder(spec.encoder.kind, "tiny", **spec.encoder.args)
    for own, other in zip(parts, others, strict=True):
        other.load_state_dict(load(save({key: value.contiguous() for key, value in own.state_dict().items()})))
        other.eval()
    assert torch.equal(states(others, batch), states(parts, batch))


def test_padding_changes_nothing(spec: ModelSpec) -> None:
    parts, codes = assembled(spec), codes_of(spec, KNOWN)
    batch, padded = batch_of(codes), batch_of(codes, padding=4)  # CANINE's multiple
    plain, longer = states(parts, batch), states(parts, padded)
    kept = parts[1].states_mask(parts[0].vectors_mask(batch.mask))  # (B, L')
    torch.testing.assert_close(longer[:, : plain.shape[1]][kept], plain[kept], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("kind", "values"), [("qrnn", {"layers": 1, "dim": 16}), ("prado", {"dim": 16, "bigrams": 8, "trigrams": 8})]
)
def test_encoders_of_pqrnn_and_prado_work_over_it(spec: ModelSpec, kind: str, values: dict[str, int]) -> None:
    parts, codes = assembled(replace(spec, encoder=EncoderSpec(kind, values))), codes_of(spec, KNOWN)
    batch, padded = batch_of(codes), batch_of(codes, padding=4)
    plain, longer = states(parts, batch), states(parts, padded)
    kept = parts[1].states_mask(parts[0].vectors_mask(batch.mask))
    torch.testing.assert_close(longer[:, : plain.shape[1]][kept], plain[kept], atol=1e-5, rtol=1e-5)
    plain.square().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.isfinite().all() for parameter in parts[1].parameters())


def test_a_batch_of_special_tokens_alone_has_states(spec: ModelSpec) -> None:
    positions = torch.tensor([[0, 2], [0, 2]])
    batch = Batch(codes_of(spec, KNOWN)[:0], positions, positions >= 0)
    assert bool(torch.isfinite(states(assembled(spec), batch)).all())


def test_the_count_is_what_is_stored(spec: ModelSpec) -> None:
    """As deployed: the parameters of the real modules and those of a head, dense (d (d + 1)) + outputs (d + 1)."""
    modules, dim = assembled(spec), 16
    head = dim * (dim + 1) * spec.head.dense + dim * (spec.head.pooling == "attention")
    head += spec.origin.classes * (dim + 1)
    counts = count(spec, "tiny", deployed=True)
    assert counts.total == sum(stored(module) for module in modules) + head
    assert 0 <= counts.embedding <= stored(modules[0])


def test_a_worker_gets_every_spec_as_it_is() -> None:
    """Workers of a sweep are other processes, which models reach as pickles."""
    assert [name for name, spec in models().items() if repr(pickle.loads(pickle.dumps(spec))) != repr(spec)] == []


def test_every_summary_is_one_line() -> None:
    assert [name for name, spec in models().items() if not spec.summary or "\n" in spec.summary] == []
