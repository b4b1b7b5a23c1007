"""`encode`: the codes of a text's tokens."""

from __future__ import annotations

from typing import Annotated

import typer

from hashbench.cli.options import DEFAULT_DB, Data, Database, TextOrJson
from hashbench.cli.output import note, print_json
from hashbench.common.errors import InputError


def encode(
    texts: Annotated[
        list[str], typer.Argument(metavar="TEXT...", help="The texts. The model's tokenizer splits them.")
    ],
    model: Annotated[
        str | None, typer.Option("--model", help="The model whose codes are printed. Not needed with --run.")
    ] = None,
    data: Data = None,
    run: Annotated[
        str | None, typer.Option("--run", help="Read text as this finished run did; the first digits of its id.")
    ] = None,
    db: Database = DEFAULT_DB,
    style: TextOrJson = "text",
) -> None:
    """Print the codes of the tokens of a text.

    A tokenizer or coder that learns from a corpus takes the corpora of --run or --data, else the built-in one.

    Example: hashbench encode --model hashformer-md-proj --format json play
    """
    from hashbench.deployment.encoding import encode_texts, reader_of_model, reader_of_run

    if run is not None:
        reader = reader_of_run(db, run, model, data or None)
    elif model is not None:
        reader = reader_of_model(model, data or None, note)
    else:
        raise InputError("encode: give --model NAME or --run ID; see hashbench models")
    encoded = encode_texts(reader, texts)
    if style == "json":
        print_json(encoded)
        return
    for row in encoded:
        print("\t".join(str(part) for part in (row["token"], *row["codes"], row["bits"]) if part is not None))
