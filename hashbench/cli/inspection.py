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
    """The models and groups whose names an experiment may use.

    Example: hashbench models --format csv
    """
    from hashbench.cli.output import print_rows
    from hashbench.embeddings.registry import models as known_models

    rows = [
        {
            "model": spec.name,
            "groups": ", ".join(spec.groups),
            "tokenizer": spec.tokenizer,
            "coder": spec.coder,
            "objective": spec.objective,
            "paper": spec.paper,
            "summary": spec.summary,
        }
        for spec in known_models().values()
    ]
    print_rows(list(rows[0]), rows, style)


def params(
    names: Annotated[
        list[str] | None, typer.Argument(metavar="[MODEL]...", help="Models or groups; all if not given.")
    ] = None,
    encoder: Annotated[Size, typer.Option(help="Size of the encoder.")] = Size.base,
    generic_row: Annotated[
        bool,
        typer.Option(help="Count the learned row that HashFormers add to every ordinary token, as their table 2 does."),
    ] = True,
    style: TableFormat = Format.text,
) -> None:
    """Parameters of models with the published vocabulary, in the frame of each paper, beside the published counts.

    Example: hashbench params --encoder base --format csv
    """
    from hashbench.cli.counting import COLUMNS, parameter_rows
    from hashbench.cli.output import print_rows

    print_rows(COLUMNS, parameter_rows(names or [], encoder.value, count_generic_row=generic_row), style)


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
    """The items that a model trained on page links expects beside some others: the lists of Superbloom's figure 4.

    Example: hashbench neighbours --run 3fa94c11 Tunisia Thailand
    """
    from hashbench.cli.neighbours import COLUMNS
    from hashbench.cli.neighbours import neighbours as find_neighbours
    from hashbench.cli.output import print_rows

    print_rows(COLUMNS, find_neighbours(db, run, context, top=top, beam=beam), style)


COMMANDS = [params, encode, models, neighbours]
