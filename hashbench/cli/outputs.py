"""Refuses outputs of commands that would replace an input of the call, or a file of another kind than is written.

A parameter that names what is written has the mark `Writes` in its annotation. Before a command does anything,
`guarded` holds each such parameter against the other parameters, the databases, and the experiments that they name.
"""

from __future__ import annotations

import codecs
import csv
import functools
import json
import os
import re
import shlex
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from hashbench.common.atomic import belongs_to, database_beside, is_database, is_same
from hashbench.common.errors import InputError
from hashbench.common.shipped import YAML, experiment_file

LOOKED_AT = 65_536  # bytes at the begin of a file, which say what it is
OF_CLAIMS = {"id", "kind", "left", "column"}  # columns of a file of claims
VERDICT = "verdict"  # a further one where they are a report
# Endings that no report has, of experiments, code, archives and databases; of data there are more, see `no_report`
NO_REPORT = {*YAML, ".py", ".ipynb", ".toml", ".gz", ".zst", ".bz2", ".xz", ".zip", ".db", ".sqlite"}
ALSO_REPORTS = {".csv", ".json"}  # formats of data that reports have too
DATABASES = ("db", "databases")  # names of parameters that are databases
DEPTH = 4  # folders within each other in which data lie
MOST_FILES = 100_000  # of a folder of data that are looked at
PLACES = ("path", "data", "sources", "corpora", "links", "claims", "weights", "use")  # keys whose values are paths
LEADING = re.compile(r"^(\.\./)+")


@dataclass(frozen=True)
class Writes:
    """Marks a parameter as naming a file or folder that the command writes.

    `strange` returns why an existing file may not be replaced, else ""; without it the command itself checks that.
    """

    shown: str  # the parameter in messages
    strange: Callable[[Path], str] | None = None


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """The command, which first refuses to write over an input: InputError, before anything else is done."""

    @functools.wraps(command)
    def run(**values: Any) -> None:
        refuse_inputs(written_by(command), values)
        command(**values)

    return run


def written_by(command: Callable[..., None]) -> dict[str, Writes]:
    """The parameters of a command that name what it writes, with their marks."""
    marked = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        marks = [part for part in get_args(hint) if isinstance(part, Writes)] if get_origin(hint) is Annotated else []
        if marks:
            marked[name] = marks[0]
    return marked


def refuse_inputs(written: Mapping[str, Writes], values: Mapping[str, Any]) -> None:
    """Raises InputError where a parameter that names what is written leads to an input of the call, or to a file of
    another kind than it writes."""
    outputs = {name: Path(values[name]) for name in written if values.get(name) is not None}
    others = {name: value for name, value in values.items() if name not in written}
    for name, output in outputs.items():
        why = _input_at(output, others) or _strange(output, written[name])
        if why:
            raise InputError(f"{written[name].shown} {output}: {why}; name another place")


def _strange(output: Path, mark: Writes) -> str:
    """Why a file that is there is not replaced by what is written; "" where it may be. An empty file may always be."""
    if mark.strange is None or not output.is_file():
        return ""
    if is_database(output):
        return "is a database"
    return mark.strange(output) if output.stat().st_size else ""


def _input_at(output: Path, others: Mapping[str, Any]) -> str:
    """Which input of the call the output is; "" where it is none."""
    databases = dict(_databases([others[name] for name in DATABASES if name in others]))
    for place in filter(None, databases.values()):
        if is_same(output, place):
            return "is the database of this call"
        if belongs_to(output, place):
            return f"belongs to the database {place.name} of this call"
    if other := database_beside(output) or database_beside(output.resolve()):
        return f"belongs to the database {other.name}"
    if not output.exists() or output.is_dir():
        return ""  # nothing is there that could be lost
    named = [*_paths_in({name: value for name, value in others.items() if name not in DATABASES})]
    if _is_among(output, named, [Path.cwd()]):
        return "is an input of this call"
    for file in filter(None, map(_experiment_file, named)):
        if is_same(output, file) or _is_of_experiment(output, file):
            return f"belongs to the experiment {file.name}"
    for database in databases:
        if why := _stored_experiment_with(output, database):
            return why
    return ""


def _databases(values: Iterable[Any]) -> Iterator[tuple[str, Path | None]]:
    """The databases that parameters name, each with its file; None for a server."""
    from hashbench.store.engine import parse

    for value in values:
        for text in [value] if isinstance(value, str) else value or ():
            url, _ = parse(text)
            yield text, Path(url.database or "") if url.get_backend_name() == "sqlite" else None


def _paths_in(value: Any, key: str = "") -> Iterator[str]:
    """The texts that may be paths in the values of a call or of an experiment; of KEY=VALUE the value."""
    if isinstance(value, Path):
        yield str(value)
    elif isinstance(value, str):
        name, equals, text = value.partition("=")
        texts = [value, text] if equals else [value]
        yield from (text for text in texts if text and (key in PLACES or "/" in text or Path(text).suffix))
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _paths_in(part, str(name))
    elif isinstance(value, Sequence):
        for part in value:
            yield from _paths_in(part, key)


def _experiment_file(text: str) -> Path | None:
    """The experiment file that a text names, by its path or name; None for one that is none."""
    try:
        file = experiment_file(text)
        return file if file.suffix in YAML and file.is_file() else None
    except (OSError, ValueError):
        return None


def _is_of_experiment(output: Path, file: Path) -> bool:
    """True where an experiment file names the output, or a folder of data with it; False where it is no YAML."""
    from ruamel.yaml import YAML as Reader
    from ruamel.yaml.error import ReusedAnchorWarning, YAMLError

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ReusedAnchorWarning)  # the experiment is refused where it is read
            values = Reader(typ="safe", pure=True).load(file.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError, RecursionError, YAMLError):
        return False
    return _is_among(output, _paths_in(values), [file.absolute().parent, file.resolve().parent, Path.cwd()])


def _stored_experiment_with(output: Path, database: str) -> str:
    """To which experiment of a database a file belongs, in words; "" where it belongs to none.

    A stored path is relative to a folder that the database does not have, so that those above the output are tried.
    """
    from hashbench.results.read import queries
    from hashbench.store.engine import open_results

    store = open_results(database)
    bases = [Path.cwd(), store.path.absolute().parent, *output.absolute().parents, *output.resolve().parents]
    try:
        rows = store.query(queries.CALLS)
    finally:
        store.close()
    for row in rows:
        words = [word for word in _words(row["command"]) if Path(word).suffix in YAML]
        files = [path for word in words for path in _existing(word, bases) if path.is_file()]
        named = [*words, *dict.fromkeys(_paths_in(json.loads(row["config"])))]
        if _is_among(output, named, bases) or any(_is_of_experiment(output, file) for file in files):
            return f"belongs to the experiment {row['name']!r} of {store.name}"
    return ""


def _words(command: str) -> list[str]:
    try:
        return shlex.split(command)
    except ValueError:  # of a database from elsewhere
        return []


def _is_among(output: Path, texts: Iterable[str], bases: Sequence[Path]) -> bool:
    """True where one of the texts leads from one of the bases to the output, or to a folder of data with it."""
    texts, bases = list(texts), list(dict.fromkeys(bases))
    folders = []
    for path in (path for text in texts for path in _existing(text, bases)):
        if path.is_dir():
            folders.append(path)
        elif is_same(output, path):
            return True
    folders = list(dict.fromkeys(folders))
    within = [text for text in texts if Path(text).suffix]  # files that an entry names below its folder
    files = [path for text in within for path in _existing(text, folders)]
    return any(is_same(output, path) for path in files) or any(_holds_as_data(folder, output) for folder in folders)


def _existing(text: str, bases: Iterable[Path]) -> Iterator[Path]:
    """The existing paths to which a text leads from the bases, also without leading ../; of FILE.py:Class the file."""
    name = text.rpartition(":")[0] if ".py:" in text else text
    for base in bases:
        for form in dict.fromkeys((name, LEADING.sub("", name))):
            try:
                path = base / Path(form).expanduser()
                if path.exists():
                    yield path
            except (OSError, ValueError, RuntimeError):  # too long, with a NUL, of a user who is not there
                continue


def _holds_as_data(folder: Path, output: Path) -> bool:
    """True where a folder of data has the output, by whatever link, among its files.

    Where the output lies in the folder itself, a report may do so too: then its name or folder must be one of data.
    """
    from hashbench.data.sources.layout import CORPUS_FORMATS, SPLITS, named
    from hashbench.data.sources.text_tables import TAGGED

    own = output.resolve().is_relative_to(folder.resolve())
    stems = {stem for stems in SPLITS.values() for stem in stems}
    seen = 0
    for place, inner, files in os.walk(folder, followlinks=True):
        parts = Path(place).relative_to(folder).parts
        inner[:] = [name for name in inner if not name.startswith(".") and len(parts) < DEPTH]
        for name in map(named, (Path(place) / file for file in files)):
            seen += 1
            is_data = name.format in (*CORPUS_FORMATS, TAGGED)
            is_data = is_data and (not own or name.stem in stems or bool(stems & {*parts}) or "corpora" in parts)
            if is_data and is_same(output, name.path):
                return True
        if seen > MOST_FILES:
            break
    return False


def no_report(path: Path) -> str:
    """Why a file is none that a report may replace: no text, or a text of another kind; "" where it may be one."""
    from hashbench.data.sources.text_tables import FORMATS, TAGGED

    endings = NO_REPORT | {*FORMATS, TAGGED} - ALSO_REPORTS
    for name in (path.name, path.resolve().name):
        if Path(name).suffix.lower() in endings:
            return f"is there already, and {Path(name).suffix} is no report"
    with path.open("rb") as file:
        head = file.read(LOOKED_AT)
    try:
        text = codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        return "is there already, and is no text"
    columns = {cell.strip() for cell in next(csv.reader(text.splitlines()), [])}
    return "has claims, and is no report" if columns >= OF_CLAIMS and VERDICT not in columns else ""
