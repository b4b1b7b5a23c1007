"""The equations of HashFormers (Xue and Aletras 2022) in plain Python: lists and loops, one type at a time."""

from __future__ import annotations

import math

Vector = list[float]


def bits_of(hexadecimal: str) -> list[int]:
    """The bits of a hexadecimal code, first digit first, highest bit of a digit first."""
    bits = []
    for digit in hexadecimal:
        value = int(digit, 16)
        for power in (8, 4, 2, 1):
            bits.append(1 if value >= power else 0)
            value -= power if value >= power else 0
    return bits


def codewords(bits: list[int], size: int) -> list[int]:
    """Consecutive chunks of `size` bits as numbers, first bit highest; the last chunk takes what is left."""
    numbers = []
    for start in range(0, len(bits), size):
        numbers.append(int("".join(str(bit) for bit in bits[start : start + size]), 2))
    return numbers


def pool(bits: list[int], codebook: list[Vector], weight: list[Vector], size: int) -> Vector:
    """Eq. 1: e = sum_j B[c_j] * softmax_j(W)[j], the softmax over chunks for every dimension by itself."""
    numbers = codewords(bits, size)
    result = []
    for place in range(len(codebook[0])):
        exponentials = [math.exp(row[place]) for row in weight]
        total = sum(exponentials)
        result.append(sum(codebook[c][place] * e / total for c, e in zip(numbers, exponentials, strict=True)))
    return result


def add(bits: list[int], zeros: list[Vector], ones: list[Vector]) -> Vector:
    """Eq. 2: e = sum_j B^j[tau_j] / sqrt(T)."""
    result = [0.0] * len(zeros[0])
    for bit, if_zero, if_one in zip(bits, zeros, ones, strict=True):
        for place, value in enumerate(if_one if bit else if_zero):
            result[place] += value / math.sqrt(len(bits))
    return result


def projection(bits: list[int], weight: list[Vector], eps: float) -> Vector:
    """Eq. 3: e_j = Pearson(tau, w_j), norms clamped below at eps."""
    return [pearson([float(bit) for bit in bits], row, eps) for row in weight]


def pearson(left: Vector, right: Vector, eps: float) -> float:
    """Correlation of two equally long vectors."""
    left_mean, right_mean = sum(left) / len(left), sum(right) / len(right)
    product = left_square = right_square = 0.0
    for a, b in zip(left, right, strict=True):
        product += (a - left_mean) * (b - right_mean)
        left_square += (a - left_mean) ** 2
        right_square += (b - right_mean) ** 2
    return product / (max(math.sqrt(left_square), eps) * max(math.sqrt(right_square), eps))
