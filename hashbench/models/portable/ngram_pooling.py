"""The n-gram pooling hash of EELBERT: the mean of folded products of rolling hashes with seeds, one part an order."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Any


def ngram_pooling(values: Mapping[str, Any], read: Callable[[str], str]) -> Callable[[str], list[float]]:
    """A function from a token to its vector, numbers as float32 holds them."""
    base, modulus, marker, scale = values["base"], values["modulus"], values["marker"], values["scale"]
    parts = _parts(values["seeds"], values["partition"])
    form = struct.Struct(f"<{len(values['seeds'])}f")
    half = modulus // 2

    def encode(token: str) -> list[float]:
        if marker and token.startswith(marker) and len(token) > len(marker):
            token = token[len(marker) :]
        points, vector = [ord(character) for character in token], []
        for order, seeds in enumerate(parts, 1):
            signatures = []
            for start in range(len(points) - order + 1):
                signature = 0
                for point in points[start : start + order]:
                    signature = (signature * base + point) % modulus
                signatures.append(signature)
            divisor = float(max(len(signatures), 1)) * float(modulus)
            for seed in seeds:
                products = [signature * seed % modulus for signature in signatures]
                total = sum(products) - modulus * sum(product > half for product in products)
                vector.append(2.0 * float(total) / divisor * scale)
        return list(form.unpack(form.pack(*vector)))

    return encode


def _parts(seeds: list[int], partition: list[int]) -> list[list[int]]:
    """The seeds divided among the orders of n-grams."""
    ends = [sum(partition[: i + 1]) for i in range(len(partition))]
    return [seeds[end - n : end] for end, n in zip(ends, partition, strict=True)]
