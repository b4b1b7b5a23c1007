"""Fixed binary codes against the bits of HMAC-MD5."""

from __future__ import annotations

import pytest
import torch

from hashbench.common.errors import InputError
from hashbench.models.coders.md5 import Md5Bits
from hashbench.models.embeddings.binary_codes import BinaryCodes

THE = "1011100100111000"  # the first 16 bits of "the"


def test_vectors_are_the_bits_of_the_word_repeated_to_the_width() -> None:
    codes = torch.from_numpy(Md5Bits().encode(["the"]))
    signs = BinaryCodes(40, bits=16).embed_types(codes)[0].tolist()
    assert signs == pytest.approx([0.02 if bit == "1" else -0.02 for bit in (3 * THE)[:40]])
    bits = BinaryCodes(16, bits=16, values="bits", scale=1).embed_types(codes)[0].tolist()
    assert bits == [float(bit) for bit in THE]
    assert BinaryCodes(256).embed_types(codes)[0, :128].gt(0).sum() == 66  # ones among the 128 bits


def test_special_tokens_alone_are_trained() -> None:
    assert sum(parameter.numel() for parameter in BinaryCodes(128).parameters()) == 640


@pytest.mark.parametrize("arguments", [{"bits": 0}, {"bits": 129}, {"bits": True}, {"values": "sign"}])
def test_wrong_arguments(arguments: dict) -> None:
    with pytest.raises(InputError, match="embedding: "):
        BinaryCodes(8, **arguments)
