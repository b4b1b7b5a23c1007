"""Commands that look at models: models, params, encode."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, Format, TableFormat


class Size(StrEnum):
    """Sizes of the encoder."""

    tiny = "tiny"
    mini = "mini"
    small = "small"
    medium = "medium"
    base = "base"


class EncodeFormat(StrEnum):
    """How codes are printed."""

    text = "text"
    json = "json"


def models(style: TableFormat = Format.text) -> None:
    """The models and groups whose names an experiment may use, what each reads and needs, and how large it is.

    Example: hashbench models --format csv
    """
    from hashbench.cli.listing import COLUMNS, model_rows, print_models
    from hashbench.cli.output import print_rows
    from hashbench.embeddings.registry import models as known_models

    rows = model_rows(list(known_models().values()))
    if style is Format.text:
        print_models(rows)
    else:
        print_rows(COLUMNS, rows, style)


def params(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups; all if not given.")
    ] = None,
    encoder: Annotated[
        Size, typer.Option(help="Size of the encoder of models that have none of their own.")
    ] = Size.base,
    paper: Annotated[
        str | None, typer.Option(help="Only the models of this paper, counted in its frame; else each in its own.")
    ] = None,
    deployed: Annotated[
        bool,
        typer.Option("--deployed", help="Count the fine-tuned model with a 2-class head, whatever the paper counts."),
    ] = False,
    all_frames: Annotated[
        bool, typer.Option("--all-frames", help="Further rows for other ways to count a model, where it has some.")
    ] = False,
    generic_row: Annotated[
        bool,
        typer.Option(help="Count the learned row that HashFormers add to every ordinary token, as their table 2 does."),
    ] = True,
    style: TableFormat = Format.text,
) -> None:
    """Parameters of models with the published vocabulary, in the frame of each paper, beside the published counts.

    Example: hashbench params --paper hashformers --format csv
    """
    from hashbench.cli.counting import COLUMNS, parameter_rows
    from hashbench.cli.output import print_rows

    rows = parameter_rows(
        names or [],
        encoder.value,
        paper=paper,
        count_generic_row=generic_row,
        deployed=deployed,
        all_frames=all_frames,
    )
    print_rows(COLUMNS, rows, style)


def costs(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups; ProFormer's if not given.")
    ] = None,
    words: Annotated[int, typer.Option(help="Words of the input whose multiply-adds are counted.", min=1)] = 128,
    encoder: Annotated[Size, typer.Option(help="Size of the encoder of models that fix none.")] = Size.base,
    style: TableFormat = Format.text,
) -> None:
    """Memory of the token part and multiply-adds of a forward pass, from the models' shapes: ProFormer's table 1.

    Bytes as the paper prints them, without the trained map of a projection, and whole.

    Example: hashbench costs proformer proformer-k4 --words 64
    """
    from hashbench.cli.output import print_rows
    from hashbench.efficiency.costs import COLUMNS, cost_rows

    print_rows(COLUMNS, cost_rows(names or [], encoder.value, words), style)


def encode(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="Texts; each is split by the model's tokenizer.")
    ],
    model: Annotated[str | None, typer.Option("--model", help="Whose codes; not needed with --run.")] = None,
    data: Data = None,
    run: Annotated[
        str | None, typer.Option("--run", help="Fit dictionaries as this run did, by its id's first digits.")
    ] = None,
    db: Database = DEFAULT_DB,
    style: Annotated[EncodeFormat, typer.Option("--format", help="How to print it.")] = EncodeFormat.text,
) -> None:
    """The codes of the tokens of a text.

    A dictionary of n-grams or a BPE is taken from the corpora of --data or of --run, else from the built-in corpus.

    Example: hashbench encode --model hashformer-md-proj --format json play
    """
    import json

    from hashbench.cli.encoding import encode_texts, reader_of_model, reader_of_run
    from hashbench.errors import InputError

    if run is not None:
        reader = reader_of_run(db, run, model, data or None)
    elif model is not None:
        reader = reader_of_model(model, data or None)
    else:
        raise InputError("encode: give --model NAME or --run ID; see hashbench models")
    encoded = encode_texts(reader, texts)
    if style is EncodeFormat.json:
        print(json.dumps(encoded, indent=2, ensure_ascii=False))
        return
    for row in encoded:
        print("\t".join(str(part) for part in (row["token"], *row["codes"], row["bits"]) if part is not None))


def neighbours(
    context: Annotated[
        list[str], typer.Argument(metavar="ITEM...", help="Items that stand together, as the data name them.")
    ],
    run: Annotated[str, typer.Option("--run", help="The training to ask: first digits of its id.")],
    db: Database = DEFAULT_DB,
    top: Annotated[int, typer.Option(min=1, help="How many items to print.")] = 10,
    beam: Annotated[
        int | None, typer.Option(min=1, help="Look into so many buckets a map; without it the ranking is exact.")
    ] = None,
    style: TableFormat = Format.text,
) -> None:
    """The items that a model trained on page links expects beside some others, or one trained on text in the place of
    [MASK]: the lists of Superbloom's figures 4 and 5.

    Example: hashbench neighbours --run 3fa94c11 Tunisia Thailand
    """
    from hashbench.cli.neighbours import COLUMNS
    from hashbench.cli.neighbours import neighbours as find_neighbours
    from hashbench.cli.output import print_rows

    print_rows(COLUMNS, find_neighbours(db, run, context, top=top, beam=beam), style)


COMMANDS = [params, costs, encode, models, neighbours]
