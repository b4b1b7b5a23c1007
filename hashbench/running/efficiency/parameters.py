"""Parameters of a model as its paper counts them, the costs of one token, and the sizes that a plan prints.

All are taken on the meta device, where weights cost nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from hashbench.common.own_files import is_own
from hashbench.models.coders.base import make_coder
from hashbench.models.embeddings.base import Counts, Embedding, Frame, ModelSpec, Parts, stored
from hashbench.models.embeddings.registry import build_embedding, with_dim
from hashbench.models.encoders.base import encoder_config, encoder_outline
from hashbench.models.layers import on_meta
from hashbench.models.objectives.heads import classification_head
from hashbench.models.text.base import make_tokenizer
from hashbench.running.experiment.models import ResolvedModel

WORD = "language"  # costs of a token are counted for this word; any common word serves


def count(
    spec: ModelSpec,
    size: str = "base",
    *,
    n_classes: int | None = None,
    n_texts: int = 1,
    head: nn.Module | None = None,
    vocabulary_rows: int | None = None,
    count_generic_row: bool = True,
    deployed: bool = False,
    frame: Frame | None = None,
) -> Counts:
    """Parameters as the model's paper counts them; by default encoder, embedding and a head for classification.

    `n_classes` None takes the paper's, `n_texts` is 2 for pairs, `head` is a trained one in place of a fresh one,
    `vocabulary_rows` None the published vocabulary. `count_generic_row=False` leaves the ordinary-token row of
    HashFormers out of the embedding's count, as the equations of their appendix do; their table 2 has it. `deployed`
    counts what is in use after fine-tuning whatever the paper counts: encoder, embedding and head. `frame` is one of
    the spec's `other_frames`, or another paper's.

    >>> from hashbench.models.embeddings.registry import find_model
    >>> count(find_model("hashformer-md-proj"))
    Counts(total=86146562, embedding=99072)
    """
    encoder = encoder_outline(spec.encoder.kind, size, **spec.encoder.args)
    with on_meta():
        embedding = build_embedding(spec, encoder.config.dim, vocabulary_rows=vocabulary_rows)
        outputs = spec.origin.classes if n_classes is None else n_classes
        fresh = classification_head(spec.head, encoder.text_width(n_texts), outputs)
    parts = Parts(spec, encoder, embedding, head := head or fresh)
    if frame is not None:
        return frame.counted(parts)
    if spec.origin.counted is not None and not deployed:
        return spec.origin.counted(parts)
    in_embedding = embedding.embedding_parameters()
    if not count_generic_row:
        in_embedding -= embedding.generic_row_parameters
    return Counts(sum(map(stored, (embedding, encoder, head))), in_embedding)


def with_pooler(parts: Parts) -> Counts:
    """Parameters of encoder, embedding and the dense layer before the classifier, which BERT calls its pooler."""
    dense = [part for name, part in parts.head.named_children() if name == "dense"]
    return Counts(sum(map(stored, (parts.encoder, parts.embedding, *dense))), parts.embedding.embedding_parameters())


# (paper, model) -> the frame of a paper that speaks of another paper's model.
OF_PAPERS = {
    ("proformer", "bert-base"): Frame("table of 30,522 pieces, twelve layers, pooler, no classifier", with_pooler),
}


def frame_of(spec: ModelSpec, paper: str) -> Frame | None:
    """The parts that a paper counts of another paper's model (its frame); None: as the model's own paper counts.

    >>> from hashbench.models.embeddings.registry import find_model
    >>> frame_of(find_model("bert-mlm"), "hashformers") is None
    True
    """
    return OF_PAPERS.get((paper, spec.name))


@dataclass(frozen=True)
class TokenCost:
    """Costs of one word's vector: parameters that are read, and multiply-adds of matrix products; None: not known."""

    active_parameters: int | None
    multiply_adds: int | None


def token_cost(spec: ModelSpec, size: str, vocabulary_rows: int | None = None) -> TokenCost:
    """The costs of one word's vector for an encoder of this size; `vocabulary_rows` as in `count`.

    Of a user-defined embedding that says nothing, products are counted, and the parameters it reads are not known.
    """
    dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
    spec = with_dim(spec, dim)
    with on_meta():
        embedding = build_embedding(spec, dim, vocabulary_rows=vocabulary_rows)
    code = code_of(spec)
    active = None if _says_nothing(embedding, "active_parameters") else embedding.active_parameters(code)
    if _says_nothing(embedding, "multiply_adds"):
        return TokenCost(active, _counted_products(embedding, code))
    return TokenCost(active, embedding.multiply_adds())


def _says_nothing(embedding: Embedding, method: str) -> bool:
    """True for a user-defined embedding with the default of a method, which holds for the suite's embeddings alone."""
    family = type(embedding)
    return is_own(family.__module__) and getattr(family, method) is getattr(Embedding, method)


def _counted_products(embedding: Embedding, code: torch.Tensor) -> int | None:
    """Multiply-adds of the products that make the vector of a code (1, c); None where they need real numbers."""
    with on_meta(), FlopCounterMode(display=False) as counter:
        try:
            embedding.embed_types(code.to("meta"))
        except Exception:  # code of the user's: it may look at values, which the device `meta` does not have
            return None
    return int(counter.get_total_flops()) // 2


def code_of(spec: ModelSpec) -> torch.Tensor:
    """The code (1, c) that a model's coder gives an example word; zeros for a coder that must be fitted first."""
    coder = make_coder(spec.code.coder, **spec.code.args)
    if coder.needs_fit:
        return torch.zeros(1, coder.width, dtype=torch.int64)
    return torch.from_numpy(coder.encode([WORD]).copy())


@dataclass(frozen=True)
class Outline:
    """The parameters of a model, whatever the recipe."""

    embedding: int  # parameters of the embedding, all that it stores
    weights: int  # in use after fine-tuning, head included


# A plan needs the outline of every one of its runs. By the identity of the spec, whose mappings have no hash; the spec
# is kept too, so that no other gets its id.
_outlines: dict[tuple[int, str, int, int | None], tuple[ModelSpec, Outline]] = {}


def outline_of(model: ResolvedModel, size: str, n_classes: int | None = None) -> Outline:
    """The sizes of a model at an encoder size; `n_classes` of its head, None: the paper's.

    A vocabulary that is learned has all rows it may have, one of a file its own.
    """
    key = (id(model.spec), size, model.pretrain.vocabulary_size, n_classes)
    if key not in _outlines:
        _outlines[key] = (model.spec, _counted(model, size, n_classes))
    return _outlines[key][1]


def _counted(model: ResolvedModel, size: str, n_classes: int | None) -> Outline:
    spec = model.spec
    tokenizer = make_tokenizer(spec.text.tokenizer, **spec.text.args)
    coder = make_coder(spec.code.coder, **spec.code.args)
    if tokenizer.needs_training:
        rows: int | None = model.pretrain.vocabulary_size
    else:
        rows = coder.num_rows if coder.needs_fit and coder.fit_pieces(tokenizer.pieces) else None
    dim = encoder_config(spec.encoder.kind, size, **spec.encoder.args).dim
    with on_meta():
        embedding = build_embedding(spec, dim, vocabulary_rows=rows)
    return Outline(
        embedding=stored(embedding),
        weights=count(spec, size, n_classes=n_classes, vocabulary_rows=rows, deployed=True).total,
    )
