"""The colour and the marker of a model, equal in every figure of an experiment and on its page.

Eight colours that the colour-blind can distinguish (after Okabe and Ito 2008, whose yellow and black vanish on light
and on dark ground, with indigo and wine of Tol 2021 in their place) and thirteen markers. A family of models shares a
marker: those with the same first words in their names. Its members differ in colour, and so do all models of
an experiment with at most eight. Models of the papers' tables are filled, user-defined labels are hollow. No two labels
of one experiment have the same look, as long as there are pairs of colour and marker for all.
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
LEAST = 3  # models of a family; smaller groups of one first word share a marker

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
    """The look of a model. It depends on its name, and on the labels in `distinct_looks`.

    >>> look_of("bert-mlm")
    Look(colour=0, marker=0, filled=True)
    """
    together = _drawn_together.get()
    return _looks(together if model in together else (model,))[model]


@cache
def _looks(labels: tuple[str, ...]) -> dict[str, Look]:
    """The looks of the labels, in their order: a marker for each family, and the colour that is used least so far.

    The colour used least in the family, of those the one used least by all, of those the first from the label's own.
    Where a pair is taken, the next free marker.
    """
    looks: dict[str, Look] = {}
    markers: dict[str, int] = {}
    used: Counter[int] = Counter()
    in_family: Counter[tuple[str, int]] = Counter()
    for label in labels:
        family, own = _family(label), _own_colour(label)
        marker = markers.setdefault(family, len(markers) % len(MARKERS))
        ranks = {
            colour: (in_family[family, colour], used[colour], (colour - own) % len(COLOURS))
            for colour in range(len(COLOURS))
        }
        pairs = [
            Look(colour, (marker + step) % len(MARKERS), filled=label in _families())
            for colour in sorted(ranks, key=lambda colour: ranks[colour])
            for step in range(len(MARKERS))
        ]
        looks[label] = look = next((look for look in pairs if look not in looks.values()), pairs[0])
        used[look.colour] += 1
        in_family[family, look.colour] += 1
    return looks


def _family(label: str) -> str:
    """The name of a label's family: of a user-defined one its first word, which is no family of the papers' models."""
    return _families()[label][0] if label in _families() else f"own {label.partition('-')[0]}"


def _own_colour(label: str) -> int:
    """The index of the colour that a label has by its name alone."""
    return _families()[label][1] if label in _families() else _number(label) % len(COLOURS)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4], "big")


@cache
def _families() -> dict[str, tuple[str, int]]:
    """(family, number in it) of each model in the papers' tables; a family is named by its first model."""
    sections = [section for layout in layouts() for section in layout.sections]
    models = [
        model
        for section in sections
        for model in (*section.models, *(model for family in section.families.values() for model in family))
    ]
    parted = families(list(dict.fromkeys(models)))
    return {model: (family[0], place % len(COLOURS)) for family in parted for place, model in enumerate(family)}


def families(models: Sequence[str], n_words: int = 1) -> list[list[str]]:
    """Models grouped by the first words of their names; a group with more models than there are colours is divided.

    >>> families(["a-x", "b", "a-y"])
    [['a-x', 'a-y'], ['b']]
    """
    groups: dict[str, list[str]] = {}
    for model in models:
        groups.setdefault("-".join(model.split("-")[:n_words]), []).append(model)
    parted = []
    for group in groups.values():
        if len(group) <= len(COLOURS):
            parted.append(group)
            continue
        parts = families(group, n_words + 1)
        rest = [model for part in parts if len(part) < LEAST for model in part]
        parted += [*([rest] if rest else []), *(part for part in parts if len(part) >= LEAST)]
    return parted
