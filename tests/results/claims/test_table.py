"""Decided claims as text, markdown, LaTeX, CSV and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from hashbench.results.claims.claim import read_rows
from hashbench.results.claims.grammar import ColumnName
from hashbench.results.claims.report import claim_sections
from hashbench.results.claims.results import Results
from hashbench.results.claims.table import (
    claim_summaries,
    claim_tables,
    formula,
    remarks,
    stands_on,
    verdict_table,
)
from hashbench.results.read import evidence
from hashbench.results.rendering.page.main import claims_of
from hashbench.results.rendering.registry import render
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.scores.draws import Scored
from hashbench.scores.quantity import Quantity
from hashbench.store.engine import Store
from tests.results.claims.world import Answers, build, claims_file

SEEDS = (0, 1, 2)
RIGHT = {"strong": 0.9, "good": 0.9, "weak": 0.6, "chance": 0.5, "coin": 0.5}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Store:
    runs = [Answers(model, right + 0.005 * seed, seed) for seed in SEEDS for model, right in RIGHT.items()]
    return build(tmp_path_factory.mktemp("claims") / "results.db", [*runs, Answers("majority", 0.5, None)])


def test_text_counts_first_and_folds_by_number(store: Store, tmp_path: Path) -> None:
    rows = [{"id": "own-1a", "left": "strong"}, {"id": "own-1b", "left": "min(chance,coin)"}]
    whole = [{"kind": "greater", "right": "weak", "column": "sst2", "unit": "percent", **row} for row in rows]
    text = render(claim_tables(store, ReportRequest(claims_file=claims_file(tmp_path, whole))), width=200)
    assert "own-1  1 holds, 1 fails" in text
    assert text.index("On scores, 2 claims") < text.index("own-1  1 holds")
    assert "On scores, 2 claims: 1 holds, 1 fails, 0 undecided, 0 not measured." in text
    assert (
        "2 verdicts rest on a 95 % interval each: up to about 1 of them may be wrong by chance. Corrected for all"
        in text
    )
    assert "of 2 parts this one: " in text
    assert re.search(r"\+30\.00 \[\+2\d\.\d\d, \+3\d\.\d\d\] points", text)
    assert "3 seeds (0, 1, 2); 400 examples of sst2" in text


@pytest.mark.parametrize(("seeds", "remark"), [(4, ""), (2, "2 of the 4 seeds asked for")])
def test_fine_tunings_of_one_pretraining_are_no_missing_seeds(tmp_path: Path, seeds: int, remark: str) -> None:
    """Seeds 0 and 2 are of one pre-training, 1 and 3 of the other."""
    runs = [
        Answers(model, RIGHT[model] + 0.005 * seed, seed, start=seed % 2)
        for seed in range(seeds)
        for model in ("strong", "weak")
    ]
    store = build(tmp_path / "r.db", runs, seeds=list(range(4)))
    own = {"id": "own-1", "kind": "greater", "left": "strong", "right": "weak", "column": "sst2", "unit": "percent"}
    (decided,) = claim_sections(store, ReportRequest(claims_file=claims_file(tmp_path, [own | {"needs": "seeds=4"}])))[
        0
    ].decided
    shown = "2 pre-trainings (0, 1), 4 seeds" if seeds == 4 else "2 seeds (0, 1)"
    assert stands_on(decided.shown).startswith(f"{shown}; 400 examples")
    assert remarks(decided) == ([remark] if remark else [])


def test_a_summary_has_the_counts_and_what_is_decided(store: Store) -> None:
    """The undecided claims of a paper are counted, those of a user are listed too; what is behind them is in full."""
    request = ReportRequest(paper="hashformers")
    whole, brief = claim_tables(store, request), claim_summaries(store, request)
    assert [table.lead for table in whole] == [table.lead for table in brief]
    for full, short in zip(whole, brief, strict=True):
        decided = [row for row in full.rows if row.cells["verdict"].tone in ("good", "bad")]
        assert [row.model for row in short.rows] == [row.model for row in decided]
        assert [len(row.details) for row in short.rows] == [1] * len(short.rows)
        assert not short.provenance and (short.warnings == full.warnings or not short.rows)
    text = render(brief, width=100)
    assert "examples of" not in text and "--full prints every claim" in text and "0 undecided" in text


def test_user_defined_claims_stand_before_those_of_papers_undecided_ones_too(store: Store, tmp_path: Path) -> None:
    rows = [{"id": "own-1", "left": "strong", "right": "good"}, {"id": "own-2", "left": "strong", "right": "weak"}]
    whole = [{"kind": "greater", "column": "sst2", "unit": "percent", **row} for row in rows]
    request = ReportRequest(paper="hashformers", claims_file=claims_file(tmp_path, whole))
    first, *others = claim_summaries(store, request)
    assert [row.model for row in first.rows] == ["own-1", "own-2"] and others
    assert not any(row.model.startswith("own") for table in others for row in table.rows)


def test_the_examples_of_a_task_are_drawn_once_for_all_claims(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trivial baselines and all claims included; so is each model's number computed once."""
    pairs = [("strong", "weak"), ("good", "weak"), ("strong", "chance"), ("good", "coin")]
    rows = [{"id": f"own-{n}", "left": left, "right": right} for n, (left, right) in enumerate(pairs)]
    whole = [{"kind": "greater", "column": "sst2", "unit": "percent", **row} for row in rows]
    drawings: list[int] = []
    leaves: list[str] = []
    draw, leaf = evidence.drawn_together, Results._leaf

    def counting(parts: Sequence[Scored], *, draws: int, seed: int) -> list[np.ndarray]:
        drawings.append(len(parts))
        return draw(parts, draws=draws, seed=seed)

    def reading(self: Results, slug: str, column: ColumnName) -> Quantity:
        leaves.append(slug)
        return leaf(self, slug, column)

    monkeypatch.setattr(evidence, "drawn_together", counting)
    monkeypatch.setattr(Results, "_leaf", reading)
    claim_tables(store, ReportRequest(claims_file=claims_file(tmp_path, whole)))
    assert drawings == [1] and sorted(leaves) == ["chance", "coin", "good", "strong", "weak"]


def test_a_verdict_that_does_not_stay_with_holms_correction_is_marked(tmp_path: Path) -> None:
    """One claim alone stays; beside nineteen that are open its p-value is not small enough."""
    runs = [Answers(model, right + 0.02 * seed, seed) for seed in SEEDS for model, right in (("a", 0.70), ("b", 0.61))]
    store = build(tmp_path / "r.db", runs)
    row = {"kind": "greater", "left": "a", "right": "b", "column": "sst2", "unit": "percent"}
    found = {}
    for n in (1, 20):
        rows = [
            row | {"id": "own-0"},
            *(row | {"id": f"own-{i}", "right": "a - b", "left": "a - b", "kind": "interaction"} for i in range(1, n)),
        ]
        (section,) = claim_sections(store, ReportRequest(claims_file=claims_file(tmp_path, rows)))
        first = section.decided[0]
        assert first.outcome == "holds" and first.chance is not None and 0.05 / 20 < first.chance < 0.05
        assert first.corrected is (n == 1)
        assert ("undecided with Holm's correction" in remarks(first)) is (n > 1)
        found[n] = first.chance
    assert found[1] == found[20]


def test_json_holds_parts_and_csv_a_row_a_claim(store: Store, tmp_path: Path) -> None:
    row = {"id": "own-1", "kind": "greater", "left": "min(strong,good)", "right": "weak", "column": "sst2",
           "unit": "percent", "note": "[bound-ours] words"}  # fmt: skip
    tables = claim_tables(store, ReportRequest(claims_file=claims_file(tmp_path, [row])))
    found = json.loads(render(tables, "json"))
    assert found[0]["counts"] == {"scores": {"holds": 1, "fails": 0, "undecided": 0, "not measured": 0}}
    assert [part["part"] for part in found[0]["claims"][0]["parts"]] == ["strong > weak: sst2", "good > weak: sst2"]
    assert any("bound-ours" in remark for remark in found[0]["claims"][0]["remarks"])
    lines = render(tables, "csv").splitlines()
    assert len(lines) == 2 and lines[0].startswith("id,paper,section,statement,kind")
    assert "| own-1 | **holds** |" in render(tables, "md")
    assert r"own-1 & \textbf{holds}" in render(tables, "latex")


def test_on_a_terminal_verdicts_have_colours(store: Store, tmp_path: Path) -> None:
    row = {"id": "own-1", "kind": "greater", "left": "strong", "right": "weak", "column": "sst2", "unit": "percent"}
    tables = claim_tables(store, ReportRequest(claims_file=claims_file(tmp_path, [row])))
    assert "\x1b[32mholds         \x1b[0m" in render(tables, width=100, color=True)
    assert "\x1b" not in render(tables, width=100)


def test_claims_about_models_that_are_not_there_are_listed_and_not_counted(store: Store, tmp_path: Path) -> None:
    rows = [{"id": "own-1a", "left": "strong"}, {"id": "own-1b", "left": "canine-c"}, {"id": "own-2", "left": "sgnn"}]
    whole = [{"kind": "greater", "right": "weak", "column": "sst2", "unit": "percent", **row} for row in rows]
    request = ReportRequest(claims_file=claims_file(tmp_path, whole))
    (table,) = claim_tables(store, request)
    text = render([table], width=200)
    assert "own-1  1 holds\n" in text and "own-2  about models that are not in this experiment" in text
    assert "On scores, 1 claim: 1 holds, 0 fail, 0 undecided, 0 not measured." in text
    assert "2 further claims name models that the experiment does not have: not counted." in text
    assert [row.model for row in table.rows] == ["own-1a", "own-1b", "own-2"]
    assert json.loads(render([table], "json"))[0]["counts"]["scores"]["not measured"] == 0


def test_the_page_has_the_tally_of_the_text(store: Store) -> None:
    sections = claim_sections(store, ReportRequest(paper="hashformers"))
    text = "\n".join(render([verdict_table(section)], width=2000) for section in sections)
    request = ReportRequest(paper="hashformers")
    page = claims_of(ReportSource(store, request))
    assert page.tally and all(part.strip() in text for line in page.tally for part in line.split(". "))
    assert len(page.rows) == sum(len(section.decided) for section in sections)


@pytest.mark.parametrize(
    ("kind", "bound", "shown"),
    [
        ("greater", 0.0, "subj: skeleton > floret"),
        ("difference_at_least", 2.0, "subj: skeleton - floret >= 2 points"),
        ("ratio_at_least", 1.5, "subj: skeleton / floret >= 1.5"),
        ("equal_within", 0.5, "subj: |skeleton - floret| <= 0.5 points"),
    ],
)
def test_a_claim_without_a_statement_is_a_formula(kind: str, bound: float, shown: str) -> None:
    unit = "x" if kind == "ratio_at_least" else "percent"
    row: dict[str, object] = {"id": "A1", "unit": unit, "kind": kind, "column": "subj", "bound": bound}
    (claim,) = read_rows([row | {"left": "skeleton", "right": "floret"}], ["a.yaml:1"])
    assert formula(claim) == shown
