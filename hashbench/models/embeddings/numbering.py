"""A stable number of each type, made of its code: what embeddings over neighbours hash n-grams of.

`batch.positions` numbers the types of one batch alone, so that nothing may be hashed from it.
"""

from __future__ import annotations

import torch
from torch import Tensor

NUMBERS = 2**31  # numbers of hashed types are smaller
# Columns of a code are added up modulo it: each product stays below 2^62.
PRIME = 2**31 - 1
# 5^13, a primitive root of the prime's field by Fishman and Moore (1986)
FACTOR = 1_220_703_125


def folded(codes: Tensor) -> Tensor:
    """Codes (n, c) -> numbers (n,) int64 below NUMBERS, sum_i code_i FACTOR^(i + 1) mod PRIME.

    Equal codes have equal numbers; two others have one with a chance of about c / 2^31. Sums and products alone, which
    every exported graph has.

    >>> folded(torch.tensor([[1, 0], [0, 1], [-1, 0]])).tolist()
    [1220703125, 1532960295, 926780522]
    """
    if codes.is_floating_point():
        codes = codes.float().contiguous().view(torch.int32)
    powers = [pow(FACTOR, i + 1, PRIME) for i in range(codes.shape[1])]
    products = codes.long().remainder(PRIME) * torch.tensor(powers, dtype=torch.int64, device=codes.device)  # (n, c)
    return products.remainder(PRIME).sum(1).remainder(PRIME)
