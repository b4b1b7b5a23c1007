"""Commands that read results: `report`, `report claims`, `report robustness` and `compare`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Database,
    EvaluationOption,
    ExperimentName,
    Output,
    PaperName,
    TableFormat,
    format_of_tables,
)
from hashbench.cli.output import note, note_unread, print_tables, show, write_output
from hashbench.common.errors import InputError, near_match
from hashbench.common.process import collecting_nothing, one_thread_of_numpy

if TYPE_CHECKING:
    from hashbench.results.tables.request import ReportRequest
    from hashbench.store.engine import Store

Ranks = Annotated[
    bool, typer.Option("--ranks", help="Print each model's rank with its 95 % interval in the place of scores.")
]
TableNames = Annotated[
    str | None,
    typer.Option(help="Print this table of the paper, or several: 1,2,3. Default: the experiment's own table."),
]
AllMetrics = Annotated[
    bool, typer.Option("--all-metrics", help="In the experiment's own table: show every stored metric of each task.")
]
RowsOfModels = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Show these models and baselines alone: NAME,NAME or a pattern, 'bert-*'."),
]
SortedBy = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Order the rows of each section by this column: average, sst2, emb_params."),
]
OneSeed = Annotated[
    bool, typer.Option("--one-seed", help="Also decide where there is one seed: by the examples alone.")
]
SomeColumns = Annotated[
    str | None,
    typer.Option(metavar="NAMES", help="Show these columns alone, in this order: average,sst2,emb_params."),
]
PAGE = "html"  # as a format: one page of everything, with figures


def report(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    paper: PaperName = None,
    table: TableNames = None,
    style: Annotated[str, format_of_tables(PAGE)] = "text",
    published: Annotated[bool, typer.Option(help="Show the published values beside the measured ones.")] = True,
    examples: Annotated[
        bool, typer.Option("--examples", help="Also print bootstrap intervals over examples. Slower.")
    ] = False,
    all_metrics: AllMetrics = False,
    ranks: Ranks = False,
    models: RowsOfModels = None,
    columns: SomeColumns = None,
    sort: SortedBy = None,
    checkpoint: EvaluationOption = "best",
    provenance: Annotated[
        bool,
        typer.Option(
            "--provenance",
            help="Print below each table all that its numbers come from, floors and what is missing; not the shortest "
            "lines of it.",
        ),
    ] = False,
    output: Output = None,
) -> None:
    """Print the tables of an experiment, with measured values beside published ones.

    See also: hashbench report claims --help; hashbench report robustness --help

    Example: hashbench report glue_tiny --table 2 --format md
    """
    one_thread_of_numpy()
    for option, value in {"--models": models, "--columns": columns, "--sort": sort}.items():
        if value is not None and style == PAGE:
            raise InputError(f"report {option}: a page has everything, and orders it when it is read; leave it out")
    with collecting_nothing():
        from hashbench.results.tables.request import ReportRequest

        request = ReportRequest(
            experiment,
            paper,
            table,
            published,
            examples,
            all_metrics,
            checkpoint,
            provenance=provenance or style == PAGE,
            ranks=ranks,
            models=_names("--models", models),
            sort=sort,
            columns=_names("--columns", columns),
        )
        if style != PAGE:
            print_report(db, request, style, output)
            return
    print_page(db, request, output)


def print_report(db: str, request: ReportRequest, style: str, output: Path | None) -> None:
    """Prints the requested tables in a format, and writes them to `output` if it is given."""
    from hashbench.results.tables.report import tables
    from hashbench.store.engine import open_results

    print_tables(tables(open_results(db), request), style, output)


def print_page(db: str, request: ReportRequest, output: Path | None) -> None:
    """Writes the experiment's HTML page to `output`, or prints it if none is given."""
    from functools import partial

    from hashbench.results.plots.main import page_figures
    from hashbench.results.rendering.page.main import page
    from hashbench.store.engine import open_results

    store = open_results(db)
    note(f"{store.name}: reading results, deciding claims ...")
    text = page(store, request, partial(page_figures, tell=note))
    if output is None:
        show(text.rstrip("\n"))
    else:
        write_output(output, text)
        show(f"{output}: {output.stat().st_size / 1e6:.1f} MB, one file; open it in a browser")


def report_claims(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    paper: PaperName = None,
    file: Annotated[Path | None, typer.Option("--claims-file", help="Also decide the claims of this CSV file.")] = None,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Print every claim, undecided ones too, with seeds, examples and what is behind the numbers. CSV, "
            "JSON and LaTeX have this always, JSON also the parts of a claim.",
        ),
    ] = False,
    one_seed: OneSeed = False,
    checkpoint: EvaluationOption = "best",
    style: TableFormat = "text",
    output: Output = None,
) -> None:
    """Print which claims of the papers, or of --paper alone, and of the experiment itself the results support.

    First the counts, then those that are decided, each in a sentence with its number.

    Example: hashbench report claims glue_tiny --paper hashformers
    """
    one_thread_of_numpy()
    from hashbench.results.claims.table import claim_summaries, claim_tables
    from hashbench.results.tables.request import ReportRequest
    from hashbench.store.engine import open_results

    request = ReportRequest(experiment, paper, checkpoint=checkpoint, claims_file=file, one_seed=one_seed)
    store = open_results(db)
    in_full = full or style not in ("text", "md")
    print_tables((claim_tables if in_full else claim_summaries)(store, request), style, output)
    note_unread(store)


def report_robustness(
    experiment: ExperimentName = None,
    db: Database = DEFAULT_DB,
    full: Annotated[
        bool,
        typer.Option(
            "--full",
            help="Print each task, rate and model.",
        ),
    ] = False,
    style: TableFormat = "text",
    output: Output = None,
) -> None:
    """Print how much of their scores models keep when texts are noisy, with intervals.

    Without options it is a summary. CSV and JSON have each rate of noise, facts on the noisy texts, and how coders
    behave on them.

    Example: hashbench report robustness robustness_tiny --full
    """
    one_thread_of_numpy()
    from hashbench.results.tables.request import ReportRequest

    print_report(db, ReportRequest(experiment, table="robustness", full=full), style, output)


def _names(option: str, words: str | None) -> tuple[str, ...]:
    """The names in a list with commas; () where the option is not given. Raises InputError for a list without any."""
    names = tuple(name.strip() for name in (words or "").split(",") if name.strip())
    if words is not None and not names:
        raise InputError(f"{option}: is empty, as a variable that is not set; write NAME,NAME or leave the option out")
    return names


def compare(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="[EXPERIMENT] A [B]",
            help="Two models, after the name of their experiment; or two experiments. B may be left out where --db "
            "names two databases: then A of the first is compared with A of the second.",
        ),
    ],
    db: Annotated[
        list[str] | None,
        typer.Option(
            "--db",
            help="The results store (HASHBENCH_DB, else results.db). Give it twice to compare two: A's, then B's.",
        ),
    ] = None,
    one_seed: OneSeed = False,
    checkpoint: EvaluationOption = "best",
    style: TableFormat = "text",
) -> None:
    """Compare two models, experiments or databases: the difference A - B on each task, with its 95 % interval.

    Only scores measured on the same examples are compared.

    Examples: hashbench compare glue_tiny hashformer-lsh-proj bert-mlm;
    hashbench compare glue_tiny --db mine.db --db theirs.db
    """
    one_thread_of_numpy()
    from hashbench.results.read.comparison import compare as compare_sides
    from hashbench.results.tables.comparison import comparison_table
    from hashbench.store.engine import open_results

    places = _places(db or [])
    stores = [open_results(place) for place in places]
    experiment, models = _sides(stores[0], names)
    if len(models) + len(places) < 3:
        raise InputError("compare: name two models or experiments, or give --db twice; see hashbench compare --help")
    comparison = compare_sides(stores, models[0], models[-1], experiment=experiment, checkpoint=checkpoint)
    print_tables([comparison_table(comparison, one_seed=one_seed)], style)


def _sides(store: Store, names: Sequence[str]) -> tuple[str | None, Sequence[str]]:
    """The experiment of a comparison, None if it is not named, and one or two models or experiments.

    The first name is the experiment if one has it and models follow. Raises InputError for too many names.
    """
    from hashbench.store.status import experiment_names

    there = experiment_names(store)
    is_named = len(names) > 1 and names[0] in there and not set(names[1:]) <= set(there)
    models = names[1:] if is_named else names
    if len(models) > 2:
        wrong = "" if is_named else f"; no experiment {names[0]!r}{near_match(names[0], there)}"
        raise InputError(f"compare: {len(models)} models are named; compare two, A and B{wrong}")
    return names[0] if is_named else None, models


def _places(databases: Sequence[str]) -> list[str]:
    """The databases of both sides of a comparison, or one for both. Raises InputError for more than two."""
    places = list(databases) or [os.environ.get("HASHBENCH_DB") or DEFAULT_DB]
    if len(places) > 2:
        raise InputError(f"compare: --db is given {len(places)} times; give it once, or twice: A's and B's")
    return places
