"""The papers' data: every number is reachable from a layout, and every footnote from a number."""

from __future__ import annotations

from statistics import fmean

import pytest
from pydantic import ValidationError

from hashbench.common.errors import InputError
from hashbench.results.papers.paper import Column, Layout, Paper, PublishedNumber, check_number, load_paper, papers
from hashbench.results.tables.measures import MEASURES
from hashbench.results.tables.minimal_pairs import published_accuracies

PAPERS = ["hashformers", "bert-hash", "eelbert", "proformer", "superbloom"]
TABLES = [(name, number) for name in PAPERS for number in load_paper(name).tables]
# What the reference data hold and no table prints: numbers that a note or a footnote says in words.
IN_WORDS = {
    ("eelbert", "figure-1"): {("bert-tiny", "embedding_share"), ("bert-tiny", "size_reduction_possible")},
    ("eelbert", "5"): {("eelbert", "latency_sentences"), ("eelbert", "latency_mean_word_length")},
    ("eelbert", "text"): {
        *((f"bert-{size}", column) for size in ("base", "mini", "tiny") for column in ("layers", "hidden")),
        *((f"bert-{size}", "total_params") for size in ("mini", "tiny")),  # as in table 2
        ("bert-base", "embedding_share"),
        *(("eelbert", column) for column in (
            "size_reduction_max", "english_mean_word_length", "ngram_max", "bucket_size", "pretraining_steps",
            "pretraining_length", "finetuning_seeds",
        )),
    },
    ("proformer", "text"): {
        ("proformer", "memory_vs_bert-base"), ("proformer-k4", "memory_vs_bert-2l"),
        ("proformer", "mean_accuracy_vs_bert-base"), ("proformer", "gain_over_sgnn_long_text_min"),
        ("proformer", "layer_reduction"),
    },
}  # fmt: skip


@pytest.fixture
def paper() -> Paper:
    return load_paper("hashformers")


def _keys(layout: Layout) -> set[str]:
    """The names of all rows in the reference data."""
    variants = [variant.key for variant in layout.variants] or [""]
    return {
        name + variant
        for section in layout.sections
        if not section.further
        for name in (*section.models, *section.families, *section.quoted, *section.tasks)
        for variant in variants
    }


def _placed(paper: Paper) -> set[tuple[str, str, str]]:
    return {
        (table, key, column.name)
        for number, layout in paper.tables.items()
        for table in (number, *layout.also)
        for key in _keys(layout)
        for column in layout.columns
    }


def test_a_printed_number_is_read_as_printed(paper: Paper) -> None:
    assert paper.numbers["1", "hashformer-lsh-proj", "cola"] == PublishedNumber(56.2, unit="percent")
    assert paper.numbers["1", "bert-mlm", "average"].std == 0.4
    assert paper.numbers["3", "hashformer-proj", "infer_ms"] == PublishedNumber(1.8, 4.6, unit="ms/sample")
    assert load_paper("superbloom").numbers["7", "superbloom-hash10-00", "token_rec@1"].decimals == 2


@pytest.mark.parametrize(
    ("name", "n"),
    # 126 + 168 + 26 + 72 cells of tables 1, 2, 3 and 6; EELBERT: what the text states of its tables, and the size of
    # bert-base; ProFormer: 6 + 16 + 23 + 19, and 4 of its text; Superbloom: 21, 9, 45, 24, 12, 16 and 48
    [("hashformers", 392), ("eelbert", 20), ("proformer", 68), ("superbloom", 175)],
)
def test_every_printed_number_has_a_place_in_its_table(name: str, n: int) -> None:
    paper = load_paper(name)
    derived = ("_exact", "_frame", "_fit")
    printed = {key for key in paper.numbers if key[0] != "params" and not key[2].endswith(derived)}
    in_words = {(table, *cell) for (owner, table), cells in IN_WORDS.items() if owner == name for cell in cells}
    assert in_words <= printed and not in_words & _placed(paper)
    assert printed - in_words <= _placed(paper)
    assert len(printed - in_words) == n


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_footnotes_point_at_printed_numbers(name: str, number: str) -> None:
    paper = load_paper(name)
    tables = (number, *paper.tables[number].also)
    for note in paper.footnotes:
        for model, column in note.cells if number in note.tables else ():
            assert any((table, model, column) in paper.numbers for table in tables), (model, column)


@pytest.mark.parametrize("name", PAPERS)
def test_footnotes_speak_of_tables_that_there_are(name: str) -> None:
    paper = load_paper(name)
    assert {number for note in paper.footnotes for number in note.tables} <= set(paper.tables)


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_columns_ask_for_what_there_is(name: str, number: str) -> None:
    layout = load_paper(name).tables[number]
    columns = {column.name: column for column in layout.columns}
    assert len(columns) == len(layout.columns)
    assert {column.measure for column in layout.columns} <= {*MEASURES, "rows"}
    for column in layout.columns:
        parts = [name for part in column.tasks for name in ([part] if isinstance(part, str) else part)]
        assert column.measure != "average" or set(parts) <= set(columns)
        assert column.of in ("", *columns)
    assert set(layout.of.values()) <= set(columns)


@pytest.mark.parametrize(("name", "number"), TABLES)
def test_partners_are_models_of_the_reference_data_or_ours(name: str, number: str) -> None:
    paper = load_paper(name)
    layout = paper.tables[number]
    known = {model for _, model, _ in paper.numbers}
    known |= {model for section in layout.sections if section.further for model in section.models}
    named = {column.against for column in layout.columns if column.against not in ("", "pair")}
    assert {*layout.pairs, *layout.pairs.values(), *layout.of, *named} <= known


def test_columns_of_tasks_are_written_out_in_the_papers_order(paper: Paper) -> None:
    names = [column.name for column in paper.tables["1"].columns]
    assert names == ["mnli", "qnli", "qqp", "rte", "sst2", "mrpc", "cola", "stsb", "average"]
    assert paper.tables["2"].columns[3].name == "prr_rte"


def test_the_tables_of_the_papers() -> None:
    assert {name: list(load_paper(name).tables) for name in PAPERS} == {
        "hashformers": ["1", "2", "3", "6"],
        "bert-hash": ["1"],
        "eelbert": ["1", "2", "3", "4", "5"],
        "proformer": ["1", "2", "3", "4"],
        "superbloom": ["1", "2", "3", "4", "5", "6", "7", "figure-3"],
    }


def test_unknown_papers_and_tables_are_named_with_what_there_is(paper: Paper) -> None:
    assert papers() == PAPERS
    with pytest.raises(InputError, match="no paper 'hashformer'; did you mean 'hashformers'"):
        load_paper("hashformer")
    with pytest.raises(InputError, match="'canine'; canine's rows stand in the tables of hashformers; there are"):
        load_paper("canine")
    with pytest.raises(InputError, match="hashformers has no table '7' here; there are: 1, 2, 3, 4, 5, 6"):
        check_number(paper, "7")


def test_published_accuracies_on_blimp_have_the_means_of_their_authors() -> None:
    """Over the 67 paradigms, as the corrected summary of the authors' repository gives them."""
    published = published_accuracies("blimp")
    means = {model: round(100 * fmean(by_paradigm.values()), 1) for model, by_paradigm in published.items()}
    assert means == {"n-gram": 61.2, "LSTM": 69.8, "Transformer-XL": 69.6, "GPT-2": 83.0}
    assert {len(by_paradigm) for by_paradigm in published.values()} == {67} and published_accuracies("other") == {}


@pytest.mark.parametrize(
    ("unit", "measure", "expected"),
    [("ms/sample", "fact", True), ("x", "fact", True), ("x", "size", False), ("count", "fact", False)],
)
def test_a_time_is_in_milliseconds_or_a_ratio_of_facts(unit: str, measure: str, expected: bool) -> None:
    assert Column("c", unit, measure).is_time == expected


def test_what_is_read_of_a_file_cannot_be_changed() -> None:
    """It is read once and shared by all tables."""
    section = load_paper("hashformers").tables["1"].sections[0]
    with pytest.raises(ValidationError, match="frozen"):
        section.title = "other"


def test_numbers_that_differ_in_their_decimals_alone_are_equal() -> None:
    assert PublishedNumber(56.2, decimals=2) == PublishedNumber(56.2, decimals=1)


def test_an_unknown_paper_is_named_with_the_tables_that_have_rows_of_that_name() -> None:
    with pytest.raises(InputError, match=r"^--paper: no paper 'qqq'; there are: "):
        load_paper("qqq")
    with pytest.raises(InputError, match=r"^--paper: no paper 'sgnn'; sgnn's rows stand in the tables of proformer; "):
        load_paper("sgnn")
