"""Writes what follows from the code: `keys.md` and `experiments/schema.json`, `commands.md` from the command line; and
README's first table, from `results.db.example`.

python docs/generate.py            # writes them
python docs/generate.py --check    # exit code 1 if they are not what the code and the database say
python docs/generate.py --figures  # draws the figures of the pages from results.db.example into images/
"""

from __future__ import annotations

import csv
import io
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, get_args

import typer
from pydantic import BaseModel

from hashbench.cli.app import app
from hashbench.cli.check import schema
from hashbench.data.tasks.blocks import NameOf
from hashbench.results.papers.paper import Column
from hashbench.results.plots.base import Drawn, FigureData
from hashbench.results.plots.colours import distinct_looks
from hashbench.results.plots.inline import inline_svg
from hashbench.results.plots.main import page_figures
from hashbench.results.plots.pareto import Cost, cost_figure, points_of
from hashbench.results.plots.sheet import styled
from hashbench.results.read.measured import measure
from hashbench.results.read.robustness import RobustnessResults, measure_robustness
from hashbench.results.tables.numbers import number, signs
from hashbench.results.tables.report import tables_of
from hashbench.results.tables.request import ReportRequest, ReportSource
from hashbench.results.tables.table import Table
from hashbench.results.tables.table import floor_of as column_floor
from hashbench.running.experiment.schema import Experiment, fields_of
from hashbench.store.engine import Store, open_store
from hashbench.store.status import experiment_names

DOCS = Path(__file__).parent
# Of images/: the experiment, the figure that draws it, and the picture.
FIGURES = {
    "glue_tiny": ("glue_tiny", "pareto", "pareto_parameters"),
    "pretraining_tiny": ("pretraining_tiny", "pretraining", "pretraining"),
}

# README's tables: the experiment of their rows, the one with the same embeddings from scratch, the one with further
# pre-trainings of them, and where they are in the page
EMBEDDINGS, COMMON, AGAIN = "embeddings_tiny", "embeddings_tiny_common", "embeddings_tiny_again"
# Bytes and times of their int8 folders: benchmarks/on_device.py FOLDER ... --csv docs/embeddings_device.csv
DEVICE = DOCS / "embeddings_device.csv"
BEGIN, END = "<!-- embeddings, written by docs/generate.py -->", "<!-- embeddings end here -->"
# Its rows, by the rule in embeddings_tiny.yaml, with what becomes of a word
ROWS = {
    "bpe": "a row for each of 1,797 pieces: a vocabulary (byte-level BPE)",
    "bpe-tasks": "the same, lower-cased, learned on texts of the tasks too",
    "low-rank": "a low-rank row for each of 8,000 pieces",
    "k2-signs": "2 hashed rows of 1,792, summed with signs",
    "tfree": "hashed rows of its trigrams, summed",
    "multihash": "hashed rows of its prefix, suffix and shape",
    "lsh-proj": "128 bits of a locality-sensitive hash, through a layer",
    "eelbert": "pooled hashes of its n-grams, nothing trained",
}
# The points of README's figure: what they are named, with "mean of " before those without an encoder
POINTS = {
    "bpe": "vocabulary",
    "bpe-tasks": "vocabulary of the tasks",
    "low-rank": "low-rank vocabulary",
    "k2": "hashed rows",
    "k2-signs": "hashed rows with signs",
    "blt": "byte n-grams",
    "tfree": "trigrams",
    "fasttext": "fastText n-grams",
    "multihash": "features",
    "lsh-proj": "LSH bits",
    "eelbert": "EELBERT",
}
POINTS |= {f"{model}-average": f"mean of {name}" for model, name in POINTS.items()}
BYTES = Cost(
    "int8_folder", "embeddings", "bytes of int8", "bytes that a program reads of the int8 folder of SST-2", "log"
)
ERRORS = ", typing errors"  # end of the titles of columns on noisy texts
FLOOR = "the best trivial baseline of each task"
BEHIND = " §"  # after the name of a row whose pre-trainings did not jump; where only one column is of these, in that
BETWEEN = """The same kinds of embedding on three of the tasks (SST-2, AG News, STS-B): pre-trained as above; from
scratch; and without an encoder, as the mean of vectors and a linear layer. Vectors of a mean have width 16 (LSH bits
keep 128), so the same size is 14 thousand rows or pieces (8,000 of the low-rank ones). The last two also with a typing
error in every tenth word of the texts that are tested:
"""
BEFORE_AGAIN = """Each of them pre-trained twice more, with other seeds and on a GPU, and fine-tuned on the same three
tasks; also with a typing error in every tenth word:
"""


def keys_page() -> str:
    """One table for each block of an experiment file."""
    lines = [
        "# All keys",
        "",
        "Every key of an experiment file, with its default. Where the default is `null`, the value follows from",
        "the model's objective and the encoder's size, or the key is off; the description says which.",
        "`hashbench check FILE` prints what a file resolves to, `hashbench schema` prints the keys as JSON Schema.",
    ]
    for name, block in blocks():
        lines += ["", f"## {name}", "", first_sentence(block), ""]
        lines += ["| key | type | default | meaning |", "|---|---|---|---|"]
        for key, field in fields_of(block).items():
            default = "required" if field.is_required() else f"`{plain(field.get_default(call_default_factory=True))}`"
            lines.append(f"| `{key}` | {type_name(field.annotation)} | {default} | {cell(field.description or '')} |")
    return "\n".join(lines) + "\n"


def blocks() -> Iterator[tuple[str, type[BaseModel]]]:
    """The experiment and each block in it, once, with the key that holds it."""
    seen: set[type[BaseModel]] = set()
    waiting: list[tuple[str, Any]] = [("The file", Experiment)]
    while waiting:
        name, annotation = waiting.pop(0)
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            if annotation in seen:
                continue
            seen.add(annotation)
            yield name, annotation
            waiting += [(f"`{key}`", field.annotation) for key, field in fields_of(annotation).items()]
        else:
            waiting[:0] = [(name, argument) for argument in get_args(annotation)]


def first_sentence(block: type[BaseModel]) -> str:
    return " ".join((block.__doc__ or "").split())


def type_name(annotation: Any) -> str:
    """A type as a reader of YAML names it."""
    if annotation is None or annotation is type(None):
        return "null"
    names = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if annotation in names:
        return names[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return "block"
    origin = getattr(annotation, "__origin__", None)
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    if origin is tuple:
        return "list of " + " or ".join(dict.fromkeys(type_name(argument) for argument in arguments))
    if origin is dict:
        return "mapping"
    if str(origin) == "typing.Literal":
        return " or ".join(f"`{value}`" for value in arguments)
    if hasattr(annotation, "__metadata__"):
        kinds = [mark for mark in annotation.__metadata__ if isinstance(mark, NameOf)]
        return " or ".join(f"`{name}`" for name in kinds[0].names()) if kinds else type_name(arguments[0])
    if arguments:
        return " or ".join(dict.fromkeys(type_name(argument) for argument in arguments))
    return "any value"


def plain(value: object) -> str:
    """A default as YAML writes it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return f"[{', '.join(plain(item) for item in value)}]"
    if isinstance(value, BaseModel):
        return "see the block"
    return str(value)


def cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def commands_page() -> str:
    """Each command with its arguments and options."""
    lines = [
        "# All commands",
        "",
        "`hashbench COMMAND --help` prints the same. Exit codes: 0 done, 1 some runs failed, 2 wrong input (one line",
        "says what, where and what to do), 129, 130, 138, 140 and 143 interrupted.",
    ]
    for path, command in commands(typer.main.get_command(app), "hashbench"):
        lines += ["", f"## {path}", "", *help_of(command)]
        shown = [parameter for parameter in command.params if not getattr(parameter, "hidden", False)]
        shown = [parameter for parameter in shown if parameter.name != "help"]
        if shown:
            lines += ["", "| argument or option | meaning |", "|---|---|"]
            lines += [f"| `{usage(parameter)}` | {meaning(parameter)} |" for parameter in shown]
    return "\n".join(lines) + "\n"


def commands(command: Any, path: str) -> Iterator[tuple[str, Any]]:
    """Every command that does something, groups spelled out."""
    if not hasattr(command, "commands"):
        yield path, command
        return
    if command.callback is not None and command.invoke_without_command and path != "hashbench":
        yield path, command
    for name, inner in command.commands.items():
        if not inner.hidden:
            yield from commands(inner, f"{path} {name}")


def help_of(command: Any) -> list[str]:
    """The help text as paragraphs, examples as code."""
    lines: list[str] = []
    for paragraph in (command.help or "").replace("\\[", "[").split("\n\n"):  # of rich a tag
        text = " ".join(paragraph.split())
        head, colon, examples = text.partition(":")
        if head in ("Example", "Examples"):
            lines += [f"    {example.strip()}" for example in examples.split("; ")]
        else:
            lines += [text]
        lines += [""]
    return lines[:-1]


def usage(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return parameter.metavar or str(parameter.name).upper()
    names = ", ".join([*parameter.opts, *parameter.secondary_opts])
    return names if parameter.is_flag else f"{names} {parameter.name.upper()}"


def choices_of(annotation: Any) -> list[str]:
    """The words that an option takes, where it takes only some: those of its Literal, alone or beside None."""
    if str(getattr(annotation, "__origin__", "")) == "typing.Literal":
        return [str(choice) for choice in get_args(annotation)]
    return [choice for argument in get_args(annotation) for choice in choices_of(argument)]


def meaning(parameter: Any) -> str:
    text = getattr(parameter, "help", None) or ""
    choices = choices_of(parameter.type_descriptor.annotation)
    if choices:
        text += f" One of {', '.join(choices)}."
    default = parameter.default
    if default not in (None, False, "", ...):
        text += f" Default: {getattr(default, 'value', default)}."
    return cell(text)


def schema_file() -> str:
    """The JSON Schema of experiment files, as `hashbench schema` prints it."""
    with redirect_stdout(io.StringIO()) as printed:
        schema()
    return printed.getvalue()


def readme() -> str:
    """README with its table of embeddings as the example database has it."""
    text = (DOCS.parent / "README.md").read_text()
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):  # else --check would compare nothing
        raise ValueError(f"README.md: no lines {BEGIN} and {END}")
    table = embeddings_table(open_store(str(DOCS.parent / "results.db.example"), read_only=True))
    return f"{before}{BEGIN}\n\n{table}\n{END}{after}"


def embeddings_table(store: Store) -> str:
    """The tables in Markdown: models that are whole; bold what is not separable from the best of a column.

    What is not in the database yet has no column.
    """
    own = tables_of(ReportSource(store, ReportRequest(EMBEDDINGS)))[0]
    averages = {"average": "", "average_single": "one text", "average_pairs": "pairs", "blimp": "BLiMP"}
    averages["average"] = f"{len(tasks_of(own, 'average'))} tasks"
    columns: dict[str, Callable[[str], str]] = {"embedding parameters": lambda model: shown(own, model, "emb_params")}
    columns |= {title: partial(shown, own, column=name) for name, title in averages.items()}
    tasks = {title: tasks_of(own, name) for name, title in averages.items()}
    columns |= device_columns("")
    whole = [model for model in ROWS if shown(own, model, "average")]
    floors = {title: number(floor_of(own, of), "percent") for title, of in tasks.items()}
    of_all = markdown(whole, columns, floors, measure(store, EMBEDDINGS).left_behind)
    known = experiment_names(store)
    common = [BETWEEN, common_table(store, whole)] if COMMON in known else []
    again = [BEFORE_AGAIN, again_table(store, whole)] if {COMMON, AGAIN} <= set(known) else []
    return "\n".join([of_all, *common, *again])


def common_table(store: Store, models: Sequence[str]) -> str:
    """The same embeddings on the tasks that all encoders have, pre-trained and not, on texts with errors too."""
    encoders = tables_of(ReportSource(store, ReportRequest(COMMON, table="encoders")))[0]
    noisy = measure_robustness(store, COMMON)
    tasks = tasks_of(encoders, "encoder_bert_pretrained")
    own = tables_of(ReportSource(store, ReportRequest(COMMON)))[0]
    noisy_floor = floor_with_noise(own, noisy, tasks)
    columns: dict[str, Callable[[str], str]] = {}
    for name, title, suffix in (
        ("encoder_bert_pretrained", "pre-trained", ""),
        ("encoder_bert_scratch", "from scratch", "-scratch"),
        ("encoder_average_scratch", "mean of words", "-average"),
    ):
        columns[title] = partial(shown, encoders, column=name)
        columns[f"{title}{ERRORS}"] = partial(with_noise, noisy, tasks, suffix, noisy_floor)
    behind, pretrained = measure(store, COMMON).left_behind, columns["pre-trained"]
    columns["pre-trained"] = lambda model: pretrained(model) + (BEHIND if model in behind else "")
    floors = dict.fromkeys(columns, number(floor_of(own, tasks), "percent"))
    floors |= dict.fromkeys((title for title in columns if title.endswith(ERRORS)), in_percent(noisy_floor))
    columns |= device_columns("-average", "mean of words, ")
    return markdown(models, columns, floors)


def again_table(store: Store, models: Sequence[str]) -> str:
    """The common tasks by the first pre-trainings and by further ones, these on texts with errors too."""
    first = tables_of(ReportSource(store, ReportRequest(COMMON, table="encoders")))[0]
    own = tables_of(ReportSource(store, ReportRequest(AGAIN)))[0]
    noisy = measure_robustness(store, AGAIN)
    tasks = tasks_of(own, "average_common")
    noisy_floor = floor_with_noise(own, noisy, tasks)
    columns: dict[str, Callable[[str], str]] = {
        "as above": partial(shown, first, column="encoder_bert_pretrained"),
        "again": partial(shown, own, column="average_common"),
        f"again{ERRORS}": partial(with_noise, noisy, tasks, "", noisy_floor),
        "BLiMP, again": partial(shown, own, column="blimp"),
    }
    common = number(floor_of(own, tasks), "percent")
    models = [model for model in models if columns["again"](model)]
    floors = {"as above": common, "again": common, f"again{ERRORS}": in_percent(noisy_floor)}
    floors["BLiMP, again"] = number(floor_of(own, ["blimp"]), "percent")
    return markdown(models, columns, floors, measure(store, AGAIN).left_behind)


def embeddings_figure(store: Store) -> list[Drawn]:
    """The averages of the common tasks against bytes on a device, pre-trained and as means of words.

    Without models whose pre-trainings did not jump.
    """
    data = FigureData(store, ReportRequest(COMMON, examples=True), alone=False)
    with DEVICE.open() as file:
        bytes_of = {row["folder"]: float(row["bytes"]) for row in csv.DictReader(file)}
    points = [
        replace(point, cost=bytes_of[point.model], name=POINTS[point.model])
        for point in points_of(data.table, "emb_params")
        if point.model in bytes_of and point.model in POINTS and point.model not in data.measured.left_behind
    ]
    floor = floor_of(data.table, tasks_of(data.table, "average"))
    with distinct_looks(point.model for point in points):
        return styled(lambda: [cost_figure(data, BYTES, points, {FLOOR: floor})])


def device_columns(suffix: str, before: str = "") -> dict[str, Callable[[str], str]]:
    """Bytes of a model's int8 folder, and its time on a new text as a multiple of that of the bag of words."""
    with DEVICE.open() as file:
        rows = {
            row["folder"].removesuffix(suffix): row for row in csv.DictReader(file) if row["folder"].endswith(suffix)
        }
    return {
        f"{before}int8 MB": lambda model: f"{int(rows[model]['bytes']) / 1e6:.2f}" if model in rows else "",
        f"{before}time": lambda model: f"{float(rows[model]['times_bag']):.0f}" if model in rows else "",
    }


def markdown(
    models: Sequence[str],
    columns: Mapping[str, Callable[[str], str]],
    floors: Mapping[str, str],
    behind: Collection[str] = (),
) -> str:
    """A row for each model, and one of the trivial baselines; without columns that all have empty.

    `behind`: models whose pre-trainings did not jump, which have a sign.

    Columns on noisy texts are shown where all have a value: that of some says nothing of the others.
    """
    filled = {title: of for title, of in columns.items() if (all if title.endswith(ERRORS) else any)(map(of, models))}
    lines = [f"| what a word becomes | {' | '.join(filled)} |", f"|---|{'---:|' * len(filled)}"]
    names = {model: ROWS[model] + (BEHIND if model in behind else "") for model in models}
    lines += [f"| {names[model]} | {' | '.join(of(model) for of in filled.values())} |" for model in models]
    lowest = [floors.get(title, "") for title in filled]
    return "\n".join([*lines, f"| {FLOOR} | {' | '.join(lowest)} |"]) + "\n"


def floor_of(table: Table, tasks: Sequence[str]) -> float:
    """The mean over tasks of the best trivial baseline, with which the sign † compares an average."""
    column = Column("average", "percent", "average", tasks=tuple(tasks))
    floor = column_floor(column, table.columns, [row for row in table.rows if row.is_baseline])
    assert floor is not None  # the example has baselines of every task
    return floor.value


def tasks_of(table: Table, name: str) -> tuple[str, ...]:
    """The tasks that a column is over."""
    column = next(column for column in table.columns if column.name == name)
    return tuple(map(str, column.tasks or (column.name,)))


def shown(table: Table, model: str, column: str) -> str:
    """A cell of a model, bold if it is in the group of the best; empty until all its planned runs are done."""
    cell = next((row.cells[column] for row in table.rows if row.model == model and column in row.cells), None)
    if cell is None or cell.value is None or (cell.planned or cell.n) != cell.n:
        return ""
    text = number(cell.value, cell.unit or "percent") + signs(cell)
    return f"**{text}**" if cell.rating == "best" else text


def with_noise(results: RobustnessResults, tasks: Sequence[str], suffix: str, floor: float | None, model: str) -> str:
    """The mean over tasks of the score at the highest rate of typing errors; empty until all are measured.

    It has the sign of a value that is not above `floor`, that of the best trivial baselines.
    """
    curves = [results.curve(model + suffix, task, "keyboard") for task in tasks]
    scores = [
        curve.score(len(curve.rates) - 1).value
        for curve in curves
        if curve and len(curve.seeds) == len(results.experiment.config["seeds"])
    ]
    if len(scores) != len(curves):
        return ""
    mean = 100 * fmean(scores)
    return in_percent(mean) + ("†" if floor is not None and mean <= floor else "")


def in_percent(value: float | None) -> str:
    """The value as tables print it; empty where there is none."""
    return "" if value is None else number(value, "percent")


def floor_with_noise(table: Table, results: RobustnessResults, tasks: Sequence[str]) -> float | None:
    """The mean over tasks of what the best trivial baseline on clean texts has at the highest rate of errors.

    In percent; None until all are measured.
    """
    scores = []
    for task in tasks:
        rows = [row for row in table.rows if row.is_baseline and row.cells[task].value is not None]
        best = max(rows, key=lambda row: row.cells[task].value or 0.0)
        if (curve := results.curve(best.model, task, "keyboard")) is None:
            return None
        scores.append(curve.score(len(curve.rates) - 1).value)
    return 100 * fmean(scores)


WRITTEN = {
    "keys.md": keys_page,
    "commands.md": commands_page,
    "../experiments/schema.json": schema_file,
    "../README.md": readme,
}


def draw_figures() -> None:
    """Draws the pictures of the pages from the example database."""
    store = open_store(str(DOCS.parent / "results.db.example"), read_only=True)
    for file, (experiment, name, picture) in FIGURES.items():
        request = ReportRequest(experiment, examples=True)
        figures = page_figures(ReportSource(store, request), names=[name], width="double", ground=True)
        drawn = {each.name: each.svg for each in figures}
        write_picture(file, drawn[picture])
    (drawn_of_readme,) = embeddings_figure(store)
    write_picture("embeddings", inline_svg(drawn_of_readme, ground=True))


def write_picture(name: str, svg: str) -> None:
    """Writes an `svg` element of a page as a file."""
    svg = svg.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ', 1)
    (DOCS / "images" / f"{name}.svg").write_text(f"{svg}\n")


def main() -> int:
    if "--figures" in sys.argv:
        draw_figures()
        return 0
    stale = []
    for name, make in WRITTEN.items():
        path, text = DOCS / name, make()
        if "--check" in sys.argv:
            stale += [name] if not path.is_file() or path.read_text() != text else []
        else:
            path.write_text(text)
    if stale:
        print(f"docs: {', '.join(stale)} not up to date; run: python docs/generate.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())
