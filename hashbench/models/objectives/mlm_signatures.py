"""Masked language modelling without a vocabulary: a word is predicted by its signature (Xue et al. 2026, 2606.28057).

K softmaxes over B buckets, one after the other, from h_0, the state behind BERT's transform:
l_k = E_k h_k + bias_k, q_k = softmax(l_k), c_k = q_k E_k, h_{k+1} = h_k + V_k gelu(U_k [h_k; c_k] + u_k) + v_k.
The score of a word is s(w) = sum_k log q_k[id_k]; the probabilities of all B^K signatures sum to 1. Every word is a
target, rare or unseen, and all models have the same ones, of 4 tables of 399 buckets, so that their losses compare.

E_k are the rows of the embedding where it has them in this shape, else rows of the head, dropped with it. The loss is
the mean over the K softmaxes: it begins at ln B, and is not comparable with the loss of `mlm`, which has other targets.

Differs from the paper: an encoder's masked positions in place of the next token; BERT's transform before the first
softmax and a bias behind each, as BERT's head has them; GELU in place of SiLU; the loss is divided by K.
`cascade: none` leaves out V_k: K softmaxes of one state.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from hashbench.models.coders.signature import PREDICTED_BUCKETS, PREDICTED_HASHES
from hashbench.models.embeddings.base import Batch, Embedding
from hashbench.models.layers import at_least_float32, draw_weights, init_weights
from hashbench.models.objectives import mlm
from hashbench.models.objectives.base import Head, Objective, States

CASCADES = ("soft", "none")
LABELS_AT_ONCE = 256  # labels whose scores of all candidates exist at a time
INNER = 64  # width inside a step of the cascade, as released


class SignatureHead(Head):
    """BERT's transform, then K softmaxes in a cascade."""

    def __init__(
        self,
        dim: int,
        eps: float = 1e-5,
        *,
        tied: bool = False,
        cascade: Literal["soft", "none"] = "soft",
        hashes: int = PREDICTED_HASHES,
        num_buckets: int = PREDICTED_BUCKETS,
    ) -> None:
        """`tied`: the rows are the embedding's (`signature_rows`), given with each call."""
        super().__init__()
        self.transform = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim, eps))
        steps = hashes - 1 if cascade == "soft" else 0
        self.steps = nn.ModuleList(
            nn.Sequential(nn.Linear(2 * dim, INNER), nn.GELU(), nn.Linear(INNER, dim)) for _ in range(steps)
        )
        self.bias = nn.Parameter(torch.zeros(hashes, num_buckets))
        self.rows = None if tied else nn.Parameter(torch.empty(hashes, num_buckets, dim))  # E (K, B, d)
        self.apply(init_weights)
        if self.rows is not None:
            draw_weights(self.rows)

    def prepared(self, batch: Batch, *, fixed_shapes: bool = False) -> Batch:
        """The batch (B, L) with the columns of its labels."""
        return mlm.with_columns(batch, fixed_shapes=fixed_shapes)

    def forward(self, states: Tensor, rows: Tensor) -> Tensor:
        """States (n, d), rows E (K, B, d) -> logarithms of the K softmaxes (n, K, B), in float32 or wider."""
        state = self.transform(states)
        logs = []
        for k, (table, bias) in enumerate(zip(rows, self.bias, strict=True)):
            logs.append(at_least_float32(nn.functional.linear(state, table, bias)).log_softmax(-1))  # (n, B)
            if k < len(self.steps):
                expected = logs[k].exp().to(table.dtype) @ table  # c_k (n, d)
                state = state + self.steps[k](torch.cat([state, expected], dim=1))
        return torch.stack(logs, dim=1)

    def among(self, model: States, batch: Batch, candidates: Tensor) -> tuple[Tensor, Tensor]:
        """At each label of a batch (B, L): of candidates with signatures (C, K) the one of the highest s(w), and the
        loss log sum exp s - s(label), (n,) each."""
        logs, ids = self._labelled(model, batch)
        best, mass = [], []
        for some in logs.split(LABELS_AT_ONCE):
            scores = some[:, 0, candidates[:, 0].long()]  # (n, C)
            for k in range(1, logs.shape[1]):
                scores = scores + some[:, k, candidates[:, k].long()]
            best.append(scores.argmax(1))
            mass.append(scores.logsumexp(1))
        return torch.cat(best), torch.cat(mass) - _picked(logs, ids).sum(1)

    def _labelled(self, model: States, batch: Batch) -> tuple[Tensor, Tensor]:
        """Logarithms of the softmaxes (n, K, B) at the labels of a batch (B, L), and the labels' ids (n, K)."""
        states, labels = mlm.labelled_states(model, batch)  # (n, d), (n,)
        assert batch.label_codes is not None  # the loader of this objective gives them
        return self(states, self.rows_of(model)), batch.label_codes[labels].long()

    def scores(self, model: States, batch: Batch) -> Tensor:
        """Logarithms (n, K) of the probabilities of the K ids of each label of a batch (B, L), row by row."""
        return _picked(*self._labelled(model, batch))

    def rows_of(self, model: States) -> Tensor:
        """The rows E (K, B, d) that states are scored against."""
        rows = self.rows if self.rows is not None else model.embedding.signature_rows()
        assert rows is not None  # the head was made for them
        return rows

    def batch_loss(self, model: States, batch: Batch, logits: Literal["labels", "all"]) -> Tensor:
        """Mean of the K cross-entropies at the labels of a batch (B, L), 0 where there is none.

        States elsewhere have no label, so that `logits` changes nothing.
        """
        scores = self.scores(model, batch)
        return -scores.sum() / max(1, scores.numel())

    def log_probabilities(self, model: States, batch: Batch) -> Tensor:
        """s(w) (n,) of the labels of a batch (B, L) that are not -100, row by row."""
        return self.scores(model, batch).sum(1)


def _picked(logs: Tensor, ids: Tensor) -> Tensor:
    """Picks the logarithms (n, K) of ids (n, K) from all (n, K, B)."""
    return logs.gather(2, ids[..., None])[..., 0]


def make_head(embedding: Embedding, config: Any, cascade: Literal["soft", "none"] = "soft") -> SignatureHead:
    """A head over an embedding's rows where they have the targets' shape, else over separate ones."""
    rows = embedding.signature_rows()
    tied = rows is not None and rows.shape[:2] == (PREDICTED_HASHES, PREDICTED_BUCKETS)
    return SignatureHead(config.dim, config.eps, tied=tied, cascade=cascade)


OBJECTIVE = Objective(
    "mlm_signatures",
    mlm.corrupt,
    "corpus (MLM by signatures)",
    make_head,
    head_args={"cascade": CASCADES},
    targets="signatures",
    probe=mlm.probe,
    learning_rates=mlm.OBJECTIVE.learning_rates,
)
