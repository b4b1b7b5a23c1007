"""MD5 codes of HashFormers (Xue and Aletras 2022, sections 3.2 and 3.4): HMAC-MD5 of a type, as bits or modulo N.

The paper has "a secret key"; the released code's is `en`. Bits are most significant first.
"""

from __future__ import annotations

import numpy as np

from hashbench.common.errors import InputError
from hashbench.models.coders.base import FIRST_ROW, Coder, PortableCoder, checked_count
from hashbench.models.coders.md5_kernel import hmac_md5
from hashbench.models.portable.hashing import md5_of
from hashbench.models.text.base import PortablePart
from hashbench.models.text.unicode import split

# Strings that are hashed before the compiled loop would be loaded.
FEW = 1_000


class Md5Bits(Coder):
    """The 128 bits of HMAC-MD5, packed (n, 16) uint8: bit 0 is the top bit of the first hexadecimal digit."""

    name = "md5-bits"
    width = 16
    dtype = np.uint8
    bits = 128

    def __init__(self, md_key: str = "en") -> None:
        self.md_key = checked_key(md_key)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its one value is the key."""
        return PortablePart("hashing", "md5_bits", {"key": self.md_key})

    def encode_utf8(self, blob: np.ndarray, offsets: np.ndarray) -> np.ndarray:
        """Packed strings -> packed bits (n, 16)."""
        if len(offsets) > FEW:
            return hmac_md5(blob, np.asarray(offsets, dtype=np.int64), self.md_key.encode())
        digest = md5_of(self.md_key)
        digests = b"".join([digest(string.decode()) for string in split(blob, offsets)])
        return np.frombuffer(digests, dtype=np.uint8).reshape(-1, self.width)


class Md5Rows(PortableCoder):
    """Row `first_row` + (HMAC-MD5 as a big-endian number) mod `num_buckets`."""

    name = "md5-rows"
    width = 1
    dtype = np.int64

    def __init__(self, num_buckets: int = 50_260, md_key: str = "en", first_row: int = FIRST_ROW) -> None:
        self.num_buckets = checked_count(self.name, "num_buckets", num_buckets)
        self.md_key = checked_key(md_key)
        self.first_row = checked_count(self.name, "first_row", first_row, least=0)

    def portable(self) -> PortablePart:
        """The step for a device without hashbench: its values are the key and the sizes of the table."""
        values = {"key": self.md_key, "num_buckets": self.num_buckets, "first_row": self.first_row}
        return PortablePart("hashing", "md5_rows", values)


def checked_key(key: str) -> str:
    """`key`, if it is a text. Raises InputError otherwise."""
    if not isinstance(key, str):
        raise InputError(f"coder: md_key {key!r} is no text; put it in quotes")
    return key
