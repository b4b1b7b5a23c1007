"""A model's colour and marker, told apart from those of the other models of its experiment."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hashbench.results.papers.paper import load_paper, papers
from hashbench.results.plots.colours import COLOURS, DARK_COLOURS, MARKERS, distinct_looks, look_of

EXPERIMENTS = Path(__file__).parents[3] / "experiments"


def printed() -> set[str]:
    """The models of all papers' tables."""
    sections = [part for name in papers() for layout in load_paper(name).tables.values() for part in layout.sections]
    return {model for section in sections for model in section.models}


def test_the_models_of_all_papers_are_told_apart() -> None:
    with distinct_looks(sorted(printed())):
        assert len({look_of(model) for model in printed()}) == len(printed())


def test_labels_of_the_experiments_that_come_with_the_suite_are_told_apart() -> None:
    files = [YAML(typ="safe").load(path.read_text(encoding="utf-8")) for path in EXPERIMENTS.glob("*.yaml")]
    labels = {model["name"] for file in files for model in file["models"] if isinstance(model, dict)}
    assert "a5-l2" in labels
    everything = labels | printed()
    with distinct_looks(sorted(everything)):
        assert len({look_of(label) for label in everything}) == len(everything)


def test_families_share_a_marker_and_their_members_have_colours_of_their_own() -> None:
    groups = [[model for model in sorted(printed()) if model.startswith(first) and "bpe" not in model]
              for first in ("hashformer-md-", "hashformer-lsh-")]  # fmt: skip
    with distinct_looks([*groups[0], *groups[1], "bert-mlm", "bert-sr"]):
        for group in groups:
            looks = [look_of(model) for model in group]
            assert len(looks) >= 5 and len({look.colour for look in looks}) == len(looks)
            assert len({look.marker for look in looks}) == 1
        of_families = {look_of(model).marker for model in (groups[0][0], groups[1][0], "bert-mlm", "bert-sr")}
        assert len(of_families) == 3


@given(st.lists(st.sampled_from([*sorted(printed()), "mine-1", "mine-2", "other", "k2"]), unique=True, max_size=8))
def test_eight_models_have_eight_colours(labels: list[str]) -> None:
    with distinct_looks(labels):
        assert len({look_of(label).colour for label in labels}) == len(labels)


def test_labels_of_one_experiment_are_told_apart() -> None:
    labels = [f"mine-{n}" for n in range(13)] + [f"proj-{n}" for n in range(13)] + ["bert-mlm"]
    with distinct_looks(labels):
        looks = {label: look_of(label) for label in labels}
    assert len(set(looks.values())) == len(labels)
    assert len({looks[f"mine-{n}"].colour for n in range(13)}) == len(COLOURS)
    assert not look_of("alone").filled


def test_a_label_of_ones_own_is_hollow_and_never_a_papers_model() -> None:
    assert not look_of("mine").filled
    assert look_of("bert-mlm").filled


def test_colours_stay_apart_for_those_who_see_no_red_or_green() -> None:
    for colours in (COLOURS, DARK_COLOURS):
        for matrix in (PROTANOPE, DEUTERANOPE):
            seen = [_seen(colour, matrix) for colour in colours]
            closest = min(math.dist(one, other) for one, other in combinations(seen, 2))
            assert closest > 0.06  # in linear light from 0 to 1


# Viénot, Brettel and Mollon (1999), in linear RGB.
PROTANOPE = ((0.11238, 0.88762, 0.0), (0.11238, 0.88762, 0.0), (0.00401, -0.00401, 1.0))
DEUTERANOPE = ((0.29275, 0.70725, 0.0), (0.29275, 0.70725, 0.0), (-0.02234, 0.02234, 1.0))


def _seen(colour: str, matrix: tuple[tuple[float, ...], ...]) -> list[float]:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return [sum(weight * one for weight, one in zip(row, linear, strict=True)) for row in matrix]


def test_labels_beyond_all_pairs_of_colour_and_marker_are_hollow_too() -> None:
    labels = [f"l{n}-{n}" for n in range(len(COLOURS) * len(MARKERS) + 3)]
    with distinct_looks(labels):
        looks = [look_of(label) for label in labels]
    assert len(set(looks)) == len(labels) - 3
    assert not any(look.filled for look in looks)
