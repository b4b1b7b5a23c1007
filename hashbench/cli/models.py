"""Commands about models: `models`, `params`, `costs`, `encode` and `neighbours`."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import (
    DEFAULT_DB,
    Data,
    Database,
    TableFormat,
    TextOrJson,
    TrustCode,
    refuse_no_run,
    refuse_unknown,
)
from hashbench.cli.output import note, print_json, print_rows
from hashbench.common.errors import InputError
from hashbench.models.names import EncoderSize

SHOWN_COLUMNS = [
    "model",
    "tokens",
    "code",
    "params",
    "embedding",
    "needs",
    "paper",
    "groups",
]  # in text


def models(style: TableFormat = "text") -> None:
    """List the models and groups that an experiment may name, what each reads and needs, and its size.

    Parameters are at base, or of the model's own size, in the frame of its paper, which hashbench params says.

    Example: hashbench models --format csv
    """
    from hashbench.models.embeddings.registry import models as known_models
    from hashbench.results.papers.paper import papers
    from hashbench.running.efficiency.sizes import MODEL_COLUMNS, model_rows

    rows = model_rows(list(known_models().values()), papers())
    sizes = [{"params": _size(row["total_params"]), "embedding": _size(row["emb_params"])} for row in rows]
    people = [{name: (row | size)[name] for name in SHOWN_COLUMNS} for row, size in zip(rows, sizes, strict=True)]
    print_rows(MODEL_COLUMNS, rows, style, people)


def _size(count: str | float | None) -> str:
    """A count in M or K; '-' for an embedding without parameters.

    >>> _size(38_603_520), _size(0)
    ('38.6M', '-')
    """
    from hashbench.results.tables.table import scaled

    value, unit = scaled(int(count or 0))
    return f"{value:.1f}{unit}" if count else "-"


ModelNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="[MODEL]...", help="Models or groups, or transformers:NAME. Default: all models."),
]
SizeOfEncoder = Annotated[EncoderSize, typer.Option(help="Size of the encoder, for models that fix none.")]
OnePaper = Annotated[
    str | None,
    typer.Option(
        help="Print only the models of this paper, counted as it counts. Default: each as its own paper counts."
    ),
]
AllFrames = Annotated[
    bool, typer.Option("--all-frames", help="Add rows for other ways to count a model, where there are some.")
]
BudgetSizes = Annotated[
    str | None,
    typer.Option(
        metavar="SIZES",
        help="Print instead how each embedding is sized to have these numbers of parameters: 0.23M,0.8M,1.6M,6.4M.",
    ),
]


def params(
    names: ModelNames = None,
    encoder: SizeOfEncoder = "base",
    paper: OnePaper = None,
    all_frames: AllFrames = False,
    budget: BudgetSizes = None,
    style: TableFormat = "text",
) -> None:
    """Count the parameters of models as each paper counts, with the published vocabulary, beside its own counts.

    Example: hashbench params --paper hashformers --format csv
    """
    refuse_unknown(names or [])
    from hashbench.results.papers.paper import load_paper
    from hashbench.results.tables.paper import PRINTED_COUNTS, printed_counts
    from hashbench.running.efficiency.sizes import (
        BUDGET_COLUMNS,
        PARAMETER_COLUMNS,
        add_spreads,
        budget_rows,
        parameter_rows,
    )
    from hashbench.running.experiment.sizing import parameters_of

    if budget is not None:
        sized, missed = budget_rows(names or [], encoder, [parameters_of(size) for size in budget.split(",")])
        if not sized:
            raise InputError(missed[0] + (f" (and {len(missed) - 1} more like it)" if len(missed) > 1 else ""))
        print_rows(BUDGET_COLUMNS, sized, style)
        for line in missed:
            note(line)
        return
    numbers = load_paper(paper).numbers if paper is not None else {}
    printed = dict.fromkeys(model for _, model, _ in numbers)
    rows = parameter_rows(names or [], encoder, paper=paper, printed=printed, all_frames=all_frames)
    for row in rows:
        row.update(printed_counts(str(row["paper"]), str(row["model"])))
    columns = [*PARAMETER_COLUMNS, *PRINTED_COUNTS]
    if names:  # how far apart word vectors begin
        columns += add_spreads(rows, encoder)
    print_rows(columns, rows, style)


def costs(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups. Default: those of ProFormer.")
    ] = None,
    encoder: Annotated[EncoderSize, typer.Option(help="Size of the encoder, for models that fix none.")] = "base",
    style: TableFormat = "text",
) -> None:
    """Print memory of embeddings and multiply-adds of 128 words, computed from shapes: ProFormer's table 1.

    Memory is given twice: as the paper counts it, without the trained map of a projection, and whole.

    Example: hashbench costs proformer proformer-k4
    """
    refuse_unknown(names or [])
    from hashbench.running.efficiency.sizes import COST_COLUMNS, cost_rows

    print_rows(COST_COLUMNS, cost_rows(names or [], encoder), style)


def encode(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="The texts. The model's tokenizer splits them.")
    ],
    model: Annotated[str, typer.Option("--model", help="The model whose codes are printed.", show_default=False)],
    data: Data = None,
    style: TextOrJson = "text",
) -> None:
    """Print the codes of the tokens of a text.

    A tokenizer or coder that learns from a corpus takes the corpora of --data, else the built-in one.

    Example: hashbench encode --model hashformer-md-proj --format json play
    """
    refuse_unknown([model])
    from hashbench.deployment.encoding import encode_texts, reader_of_model

    reader = reader_of_model(model, data or None, note)
    encoded = encode_texts(reader, texts)
    if style == "json":
        print_json(encoded)
        return
    for row in encoded:
        print("\t".join(str(part) for part in (row["token"], *row["codes"], row["bits"]) if part is not None))


def neighbours(
    context: Annotated[
        list[str], typer.Argument(metavar="ITEM...", help="The items that are given, by their names in the data.")
    ],
    run: Annotated[str, typer.Option("--run", help="The finished training, by the first digits of its id.")],
    db: Database = DEFAULT_DB,
    top: Annotated[int, typer.Option(min=1, help="How many items to print.")] = 10,
    beam: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Score only the items in the best buckets, this number of each hash function: faster, but "
            "approximate. Default: all items, exact.",
        ),
    ] = None,
    style: TableFormat = "text",
    trust_code: TrustCode = False,
) -> None:
    """Print the items that a model expects beside those given, as the lists of Superbloom's figures 4 and 5.

    For a model trained on page links, ITEM are pages that one page links to. For one trained on text they are the
    words of a text in order, with [MASK] in the place of the wanted item.

    Example: hashbench neighbours --run 3fa94c11 Tunisia Thailand
    """
    refuse_no_run(db, run)
    from hashbench.deployment.neighbours import neighbours as find_neighbours

    rows = find_neighbours(db, run, context, top=top, beam=beam, trust_code=trust_code)
    print_rows(["rank", "item", "score", "in_context"], rows, style)
