"""The colour and the marker of a model: the same in every figure and on the page, whatever else is drawn.

Eight colours that stay apart for the colour-blind (after Okabe and Ito 2008, whose yellow and black vanish on light and
on dark ground, with indigo and wine of Tol 2021 in their place) and thirteen markers. Models of the papers' tables take
them in the tables' order, filled; labels of a user's own take them by the hash of the name, hollow.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache

from hashbench.papers.paper import load_paper, papers

# On light ground, and the same on dark.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#332288", "#882255")
DARK_COLOURS = ("#4ba3e3", "#ff8a4a", "#3fc79a", "#e39fc6", "#f5b73b", "#9ad9fb", "#a69cff", "#dd78a5")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "h", "*", "d")  # matplotlib's names
# With it the labels of the experiments that come with the suite are told apart; a test holds it.
SALT = "19"


@dataclass(frozen=True)
class Look:
    """Places in COLOURS and MARKERS, and whether the marker is filled."""

    colour: int
    marker: int
    filled: bool


def look_of(model: str) -> Look:
    """How a model is drawn: a function of its name alone.

    >>> look_of("bert-mlm")
    Look(colour=0, marker=0, filled=True)
    """
    places = _places()
    filled = model in places
    digest = hashlib.sha256(f"{SALT} {model}".encode()).digest()
    place = places[model] if filled else int.from_bytes(digest[:4], "big") % (len(COLOURS) * len(MARKERS))
    # 8 and 13 share no factor: 104 pairs.
    return Look(place % len(COLOURS), place % len(MARKERS), filled)


@cache
def _places() -> dict[str, int]:
    """The models of all papers' tables, numbered in the tables' order."""
    layouts = [layout for name in papers() for layout in load_paper(name).tables.values()]
    sections = [section for layout in layouts for section in layout.sections]
    models = [
        model
        for section in sections
        for model in (*section.models, *(model for family in section.families.values() for model in family))
    ]
    return {model: place for place, model in enumerate(dict.fromkeys(models))}
