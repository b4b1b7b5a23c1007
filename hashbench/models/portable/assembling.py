"""From tokens and codes to the inputs of a graph: special tokens, truncation, pairs, distinct tokens, padding."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

# From values and a function that reads a table to a step of the text side
StepMaker = Callable[[Mapping[str, Any], Callable[[str], str]], Callable[[str], Any]]
TYPES = {"uint8": "B", "float32": "f", "int64": "q", "int32": "i"}  # of the numbers of a code, as `array` calls them

AT_ONCE = 64  # tokens whose codes are made together, so that numbers on the way stay few


def lengths_kept(first: int, second: int, budget: int, truncation: str) -> tuple[int, int]:
    """How many tokens of both texts of a pair are kept so that they fit."""
    less, more = budget // 2, budget - budget // 2
    if truncation == "balanced":
        halves = less, less
    elif truncation == "longest_first":
        halves = more, less
    else:  # longer_keeps
        halves = (more, less) if first > second else (less, more)
    if first + second <= budget:
        return first, second
    if first >= halves[0] and second >= halves[1]:
        return halves
    return (budget - second, second) if first > second else (first, budget - first)


class BothWays:
    """A function from a token to its code that by numpy, handed in, makes an array (n, c) of n tokens, all equal.

    `of_some` makes the codes of some tokens without numpy, where that is quicker than one by one."""

    def __init__(
        self, of_one: Callable[[str], Any], of_many: Callable[[Any, Sequence[str]], Any],
        of_some: Callable[[Sequence[str]], Sequence[Any]] | None = None,
    ) -> None:  # fmt: skip
        self.of_one, self.of_many = of_one, of_many
        self.of_some = of_some or (lambda tokens: [of_one(token) for token in tokens])

    def __call__(self, token: str) -> Any:
        """The code of one token."""
        return self.of_one(token)


def numpy_here() -> Any:
    """numpy, if the application has imported it, else None. ONNX Runtime for Python imports it."""
    return sys.modules.get("numpy")


class TextSide:
    """From texts to the inputs of a model's graph. Codes of tokens are computed once and kept.

    One that `of` made can be pickled: what it is made of is kept, and it is made again.
    """

    def __init__(
        self, tokenize: Callable[[str], list[str]], encode: Callable[[str], Sequence[float]], values: Mapping[str, Any]
    ) -> None:
        self.tokenize, self._encode, self.values = tokenize, encode, values
        self._known: dict[str, Sequence[float]] = {}
        self._packed: dict[str, bytes] = {}
        self._made_of: tuple[Any, ...] | None = None

    @classmethod
    def of(
        cls, tokenizer: StepMaker, coder: StepMaker, values: Mapping[str, Any], read: Callable[[str], str]
    ) -> TextSide:
        """A text side of two functions that make its steps from their values and from tables that `read` gives."""
        tables: dict[str, str] = {}

        def kept(name: str) -> str:
            tables[name] = read(name)
            return tables[name]

        side = cls(tokenizer(values["tokenizer"], kept), coder(values["coder"], kept), values["inputs"])
        side._made_of = (tokenizer, coder, values, tables)
        return side

    def __reduce__(self) -> tuple[Any, ...]:
        if self._made_of is None:
            raise TypeError("a text side can be pickled if TextSide.of made it")
        *parts, tables = self._made_of
        return TextSide.of, (*parts, tables.__getitem__)

    def varied(self, tokenize: Callable[[Any], list[str]] | None = None, **values: Any) -> TextSide:
        """This text side with other values, or another way to tokens; codes that are known are known to both."""
        side = TextSide(tokenize or self.tokenize, self._encode, {**self.values, **values})
        side._known, side._packed = self._known, self._packed
        return side

    def code(self, token: str) -> Sequence[float]:
        """The code of a token."""
        code = self._known.get(token)
        if code is None:
            code = self._encode(token)
            if len(self._known) >= self.values["remembered"]:
                self._known.clear()
            self._known[token] = code
        return code  # not looked up again: another thread may have cleared what is known

    def packed(self, tokens: Iterable[str]) -> list[bytes]:
        """The codes of distinct tokens as bytes of rows of the graph's input, in the order of this machine."""
        rows = {token: self._packed.get(token, b"") for token in tokens}
        new = [token for token, row in rows.items() if not row]
        added = self._rows_of(new)
        if len(self._packed) + len(new) > self.values["remembered"]:
            self._packed.clear()
        self._packed.update(added)
        return list({**rows, **added}.values())

    def _rows_of(self, tokens: list[str]) -> dict[str, bytes]:
        """The bytes of the codes of tokens, by numpy where it is here and the coder knows it."""
        kind, numpy, encode = self.values["graph_codes"], numpy_here(), self._encode
        if not isinstance(encode, BothWays):
            return {token: array(TYPES[kind], encode(token)).tobytes() for token in tokens}
        rows: dict[str, bytes] = {}
        for first in range(0, len(tokens), AT_ONCE):
            some = tokens[first : first + AT_ONCE]
            if numpy is None:
                codes = [array(TYPES[kind], code) for code in encode.of_some(some)]
            else:
                codes = encode.of_many(numpy, some).astype(kind, copy=False)
            rows.update((token, code.tobytes()) for token, code in zip(some, codes, strict=True))
        return rows

    def inputs(self, texts: Sequence[Any]) -> dict[str, list[Any]]:
        """A model's inputs as lists: codes (n, c) of the n distinct tokens, positions (B, L), perhaps segments (B, L).

        From texts, or pairs of texts. Segments are of a model that distinguishes the texts of a pair. There is at least
        one code, so that no array is empty."""
        places, arrays = self._rows(texts)
        codes = [list(self.code(token)) for token in places] or [[0] * self.values["width"]]
        return {"codes": codes, **arrays}

    def buffers(self, texts: Sequence[Any]) -> dict[str, tuple[bytes, str, tuple[int, int]]]:
        """The arrays of `inputs` as bytes, with the type of their numbers and their shape.

        `numpy.frombuffer` and tensors of other runtimes take them without a copy of each number."""
        places, arrays = self._rows(texts)
        kind, width = self.values["graph_codes"], self.values["width"]
        codes = b"".join(self.packed(places)) or bytes(array(TYPES[kind]).itemsize * width)
        buffers = {"codes": (codes, kind, (max(1, len(places)), width))}
        for name, rows in arrays.items():
            flat = rows[0] if len(rows) == 1 else [number for row in rows for number in row]
            length = len(rows[0]) if rows else self.values["shortest"]
            buffers[name] = array("q", flat).tobytes(), "int64", (len(rows), length)
        return buffers

    def _rows(self, texts: Sequence[Any]) -> tuple[dict[str, int], dict[str, list[list[int]]]]:
        """The index of each distinct token, and all inputs of the graph but the codes, filled up to one length."""
        if isinstance(texts, str):  # else each of its characters were a text
            raise TypeError(f"{texts[:20]!r}: give a list of texts")
        places: dict[str, int] = {}
        rows = [self._row([text] if isinstance(text, str) else list(text), places) for text in texts]
        multiple, pad = self.values["multiple"], self.values["pad"]
        longest = max([self.values["shortest"], *(len(positions) for positions, _ in rows)])
        length = -(-longest // multiple) * multiple
        arrays = {"positions": [positions + [pad] * (length - len(positions)) for positions, _ in rows]}
        if self.values["has_segments"]:
            arrays["segments"] = [segments + [0] * (length - len(segments)) for _, segments in rows]
        return places, arrays

    def _row(self, texts: list[str], places: dict[str, int]) -> tuple[list[int], list[int]]:
        """Positions and segments of one input; new tokens are entered in `places`."""
        form = self.values["pair" if len(texts) == 2 else "single"]
        budget = self.values["max_length"] - sum(isinstance(part, int) for part in form)
        tokens = [self.tokenize(text) for text in texts]
        if len(tokens) == 2:
            kept = lengths_kept(len(tokens[0]), len(tokens[1]), budget, self.values["truncation"])
        else:
            kept = (min(len(tokens[0]), budget), 0)
        positions: list[int] = []
        segments: list[int] = []
        segment = 0
        for part in form:
            if part == "B":
                segment = 1
            if isinstance(part, int):
                added = [part]
            else:
                which = "AB".index(part)
                first = self.values["specials"]
                added = [first + places.setdefault(token, len(places)) for token in tokens[which][: kept[which]]]
            positions += added
            segments += [segment] * len(added)
        return positions, segments
