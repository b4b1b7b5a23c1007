"""The colour and the marker of a model, equal in every figure of an experiment and on its page.

Eight colours that the colour-blind can distinguish (after Okabe and Ito 2008, whose yellow and black vanish on light
and on dark ground, with indigo and wine of Tol 2021 in their place) and thirteen markers. A family of models shares a
colour: those with the same first words in their names. Models of the papers' tables are filled, user-defined labels are
hollow. No two labels of one experiment have the same look, as long as there are pairs of colour and marker for all.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache

from hashbench.results.papers.paper import layouts

# On light ground, and the same on dark.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#882255")
DARK_COLOURS = ("#4ba3e3", "#ff8a4a", "#3fc79a", "#e39fc6", "#f5b73b", "#9ad9fb", "#a69cff", "#dd78a5")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")  # matplotlib's names
LEAST = 3  # models of a family; smaller groups of one first word share a colour

_drawn_together: ContextVar[tuple[str, ...]] = ContextVar("labels", default=())


@dataclass(frozen=True)
class Look:
    """The look of a model: indexes into COLOURS and MARKERS, and whether the marker is filled."""

    colour: int
    marker: int
    filled: bool


@contextmanager
def distinct_looks(labels: Iterable[str]) -> Iterator[None]:
    """A context in which no two of the labels of the drawn experiment have the same look."""
    token = _drawn_together.set(tuple(dict.fromkeys(labels)))
    try:
        yield
    finally:
        _drawn_together.reset(token)


def look_of(model: str) -> Look:
    """The look of a model. It depends on its name, and for user-defined labels on those in `distinct_looks`.

    >>> look_of("bert-mlm")
    Look(colour=0, marker=0, filled=True)
    """
    places = _places()
    if model in places:
        return Look(*places[model], filled=True)
    together = _drawn_together.get()
    return _own_looks(together if model in together else (model,))[model]


@cache
def _own_looks(labels: tuple[str, ...]) -> dict[str, Look]:
    """The looks of user-defined labels: colour by the first word, marker by the whole name, or the next free pair.

    The order of the labels does not matter but where two want the same pair.
    """
    looks: dict[str, Look] = {}
    for label in labels:
        if label in _places():
            continue
        colour, marker = _number(label.partition("-")[0]) % len(COLOURS), _number(label) % len(MARKERS)
        pairs = (
            Look((colour + beside) % len(COLOURS), (marker + step) % len(MARKERS), filled=False)
            for beside in range(len(COLOURS))
            for step in range(len(MARKERS))
        )
        first = Look(colour, marker, filled=False)
        looks[label] = next((look for look in pairs if look not in looks.values()), first)
    return looks


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


@cache
def _places() -> dict[str, tuple[int, int]]:
    """Indexes of colour and marker for each model in the papers' tables; a family shares its colour."""
    sections = [section for layout in layouts() for section in layout.sections]
    models = [
        model
        for section in sections
        for model in (*section.models, *(model for family in section.families.values() for model in family))
    ]
    used = Counter(dict.fromkeys(range(len(COLOURS)), 0))
    places: dict[str, tuple[int, int]] = {}
    for family in families(list(dict.fromkeys(models))):
        colour = min(used, key=lambda number: used[number])  # of equal ones the first
        for model in family:
            places[model] = (colour, used[colour] % len(MARKERS))
            used[colour] += 1
    return places


def families(models: Sequence[str], n_words: int = 1) -> list[list[str]]:
    """Models grouped by the first words of their names; a group with more models than there are markers is divided.

    >>> families(["a-x", "b", "a-y"])
    [['a-x', 'a-y'], ['b']]
    """
    groups: dict[str, list[str]] = {}
    for model in models:
        groups.setdefault("-".join(model.split("-")[:n_words]), []).append(model)
    parted = []
    for group in groups.values():
        if len(group) <= len(MARKERS):
            parted.append(group)
            continue
        parts = families(group, n_words + 1)
        rest = [model for part in parts if len(part) < LEAST for model in part]
        parted += [*([rest] if rest else []), *(part for part in parts if len(part) >= LEAST)]
    return parted
