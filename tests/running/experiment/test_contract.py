"""running/experiment/contract.py: each promise holds for a good embedding, and is found broken in a bad one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from hashbench.models.embeddings.base import Batch, CodeSpec, Embedding, EmbeddingSpec, ModelSpec
from hashbench.models.embeddings.registry import find_model, models
from hashbench.running.experiment.contract import alike_at_the_start, contract, parameters_left_out

ROOT = Path(__file__).parents[3]


class Good(Embedding):
    """One linear map of the 16 bytes of a code."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.map = nn.Linear(16, dim)
        self.special = nn.Parameter(torch.randn(5, dim))

    def embed_types(self, codes: Tensor) -> Tensor:
        """(n, 16) -> (n, d)."""
        return self.map(codes.float() / 255)

    def special_rows(self) -> Tensor:
        """(5, d)."""
        return self.special

    def embedding_parameters(self) -> int:
        """The weights of the map."""
        return self.map.weight.numel()


class NeedsMore(Good):
    def __init__(self, dim: int, more: int) -> None:
        super().__init__(dim)


class WrongShape(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return super().embed_types(codes)[:, :3]


class NotFinite(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return super().embed_types(codes) / 0


class SeesTheBatch(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return super().embed_types(codes).cumsum(0)


class Forgets(Good):
    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.forgotten = nn.Parameter(torch.zeros(1))


class CountsWrong(Good):
    def embedding_parameters(self) -> int:
        return 10**9


class CountsLittle(Good):
    def embedding_parameters(self) -> int:
        return 7


class KeepsStateElsewhere(Good):
    def __init__(self, dim: int) -> None:
        super().__init__(dim)
        self.hidden = torch.randn(dim)

    def embed_types(self, codes: Tensor) -> Tensor:
        return super().embed_types(codes) + self.hidden


class SeesPadding(Good):
    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch) * batch.positions.shape[1]


class DropsTokens(Good):
    def forward(self, batch: Batch) -> Tensor:
        return super().forward(batch)[:, 1:]


BROKEN = {
    NeedsMore: ("it can be built", "missing 1 required positional argument: 'more'"),
    WrongShape: ("embed_types and special_rows have the right shapes", "embed_types gave (10, 3), not (10, 16)"),
    NotFinite: ("unseen, empty, very long and non-ASCII types have finite vectors", "not finite for "),
    SeesTheBatch: ("a type's vector does not depend on the batch", "depends on the other types of the batch"),
    Forgets: ("gradients reach every trained parameter", "no gradient reaches forgotten"),
    CountsWrong: ("embedding_parameters counts no more than what is stored", "gave 1000000000, but 352 are stored"),
    KeepsStateElsewhere: ("saved and loaded weights give the same vectors", "it gives other vectors"),
    SeesPadding: ("padding changes nothing", "padding changes the vectors of tokens"),
    DropsTokens: ("forward makes one vector a token", "forward gave (2, 14, 16), not (2, 15, 16)"),
}


def findings(embedding: type[Embedding]) -> dict[str, str | None]:
    """Problems by promise."""
    spec = ModelSpec("mine", EmbeddingSpec(embedding), code=CodeSpec("md5-bits"))
    return {each.promise: each.problem for each in contract(spec)}


def test_a_good_embedding_keeps_every_promise() -> None:
    found = findings(Good)
    assert len(found) == 10 and set(found.values()) == {None}


@pytest.mark.e2e
@pytest.mark.parametrize(("embedding", "expected"), BROKEN.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_a_broken_promise_is_named(embedding: type[Embedding], expected: tuple[str, str]) -> None:
    promise, problem = expected
    assert problem in str(findings(embedding)[promise])


@pytest.mark.parametrize("name", ["bert-mlm", "hashformer-md-pool", "hashformer-lsh-proj"])
def test_models_of_the_suite_keep_them_too(name: str) -> None:
    assert {each.promise: each.problem for each in contract(find_model(name).small()) if each.problem} == {}


@pytest.mark.e2e
def test_the_same_is_found_without_assertions(tmp_path: Path) -> None:
    """python -O drops every `assert`; the promises are checked all the same."""
    (tmp_path / "bad.py").write_text(
        "import torch\nfrom tests.running.experiment.test_contract import Good\n\n\nclass Bad(Good):\n"
        "    def embed_types(self, codes):\n        return super().embed_types(codes)[:, :3]\n"
    )
    program = [sys.executable, "-O", "-m", "hashbench", "check", "--embedding", str(tmp_path / "bad.py:Bad")]
    done = subprocess.run([*program, "--coder", "md5-bits"], capture_output=True, text=True, cwd=ROOT)
    assert (done.returncode, done.stderr) == (1, "")
    assert "embed_types gave (10, 3), not (10, 16); return one row of width dim for each code" in done.stdout


@pytest.mark.parametrize("embedding", BROKEN, ids=lambda each: each.__name__)
def test_a_broken_promise_says_what_to_do(embedding: type[Embedding]) -> None:
    promise, _ = BROKEN[embedding]
    assert promise == "it can be built" or "; " in str(findings(embedding)[promise])


def test_a_small_count_is_told() -> None:
    def notes(embedding: type[Embedding]) -> list[str]:
        return parameters_left_out(ModelSpec("own", EmbeddingSpec(embedding), code=CodeSpec("md5-bits")))

    assert notes(Good) == []
    assert notes(CountsLittle) == ["embedding_parameters counts 7 of 352 parameters; tables print that number"]


class Faint(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return 1e-3 * super().embed_types(codes)


class Hidden(Good):
    def embed_types(self, codes: Tensor) -> Tensor:
        return torch.ones(len(codes), 16) + 1e-3 * super().embed_types(codes)


@pytest.mark.parametrize("embedding", [Faint, Hidden])
def test_vectors_that_begin_nearly_alike_are_told(embedding: type[Embedding]) -> None:
    def notes(embedding: type[Embedding]) -> list[str]:
        return alike_at_the_start(ModelSpec("own", EmbeddingSpec(embedding), code=CodeSpec("md5-bits")))

    assert notes(Good) == []
    (note,) = notes(embedding)
    assert note.startswith("vectors of different types begin nearly alike: they differ by 0.000")


@pytest.mark.parametrize("name", [name for name, spec in models().items() if spec.free_size])
def test_families_at_equal_budgets_begin_with_vectors_that_differ(name: str) -> None:
    """Else a comparison of them compares how they begin."""
    assert alike_at_the_start(find_model(name)) == []
