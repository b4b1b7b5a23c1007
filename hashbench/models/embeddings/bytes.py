"""ByT5's table of bytes: 256 rows and rows of special tokens, one token a byte (Xue et al., TACL 2022, section 3).

The trivial embedding without a vocabulary: nothing is hashed, and the encoder pays for it with longer sequences. Chosen
here: BERT's encoder, no deeper than for other models, and its five special tokens in place of ByT5's three.
"""

from __future__ import annotations

from hashbench.models.coders.base import FIRST_ROW
from hashbench.models.embeddings.base import CodeSpec, EmbeddingSpec, ModelSpec, TextSpec, TrainingSpec
from hashbench.models.embeddings.lookup import LookupTable
from hashbench.models.text.characters import BYTES

BYT5_SPECIALS = 3  # padding, end, unknown
MAX_BYTES = 512  # of an input: BERT's positions


class ByteTable(LookupTable):
    """A table with a row for each byte, behind the special tokens."""

    def __init__(self, dim: int) -> None:
        super().__init__(dim, FIRST_ROW + BYTES)

    def embedding_parameters(self) -> int:
        """The parameters of 259 rows, as ByT5 has them."""
        return (BYTES + BYT5_SPECIALS) * self.weight.shape[1]


MODELS = [
    ModelSpec(
        name="bytes",
        text=TextSpec("bytes"),
        code=CodeSpec("byte-rows"),
        embedding=EmbeddingSpec(ByteTable),
        training=TrainingSpec("mlm", finetune={"max_length": MAX_BYTES}),
        groups=("byte-table",),
        summary="a row for each byte, and a token for each byte",
    )
]
