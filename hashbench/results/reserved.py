"""Names that tables and claims use for themselves: no task, further set or model of a user may have one.

They are taken from the columns: those written in the modules of tables, those whose names depend on an experiment's
values (`TableFile.further_names`), and those that a claim may name.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from functools import cache
from itertools import product
from types import ModuleType

from hashbench.common.errors import InputError
from hashbench.common.registry import modules_of, registered
from hashbench.results.claims import report, table
from hashbench.results.claims.columns import FACT_UNITS, PRR, nameable
from hashbench.results.claims.published import EXACT
from hashbench.results.papers.paper import Column
from hashbench.results.tables.experiment import OF_TEXTS

OVER_EXAMPLES = "*_over_examples"  # rows of CSV and JSON with the ends of an interval
TABLES, CLAIMS = "hashbench.results.tables", "report claims"
SHOWN = ("average", "total_params", "emb_params", "run_minutes")  # examples in the message


def check_name(name: str, what: str, *, baselines: Collection[str], remedy: str) -> None:
    """Raises InputError if `name` is that of a column or of a trivial baseline, in whatever case.

    `what`: the kind of thing with this name. `baselines`: the names of trivial baselines.
    """
    if name.lower() in {baseline.lower() for baseline in baselines}:
        raise InputError(f"{what} {name!r}: is the name of a trivial baseline ({', '.join(baselines)}); {remedy}")
    columns = reserved_columns()
    for pattern, where in columns.items():
        if fnmatchcase(name.lower(), pattern):
            others = f"reserved are {', '.join(SHOWN)} and {len(columns) - len(SHOWN)} more"
            raise InputError(f"{what} {name!r}: is the name of a column of {where} ({others}); {remedy}")


def check_model_name(name: str, what: str, *, baselines: Collection[str], tasks: Collection[str], remedy: str) -> None:
    """Raises InputError as `check_name` does, and for the name of a task, which heads a column too."""
    check_name(name, what, baselines=baselines, remedy=remedy)
    if name in tasks:
        raise InputError(f"{what} {name!r}: is the name of a task; {remedy}")


def check_apart(names: Iterable[str], tasks: Collection[str], what: str, *, remedy: str) -> None:
    """Raises InputError if one of `names` is that of a further column of one of the tasks.

    Those are TASK_METRIC, TASK_METRIC_SPLIT and the counts of texts read, such as TASK_tokens.
    """
    metrics, counts = registered("metric"), {of_texts[0] for of_texts in OF_TEXTS}
    for name, task in product(names, tasks):
        rest = name.removeprefix(f"{task}_")
        of_metric = any(rest == metric or rest.startswith(f"{metric}_") for metric in metrics)
        if rest != name and (of_metric or rest in counts):
            raise InputError(f"{what} {name!r}: is the name of a column of task {task!r}; {remedy}")


@cache
def reserved_columns() -> Mapping[str, str]:
    """Names of columns in lower case, as patterns of fnmatch, and the first place that has each, in words."""
    files = registered("table").values()
    of_modules = {module: f"table {module.__name__.rpartition('.')[2]}" for module in modules_of(TABLES)}
    of_modules |= {sys.modules[file.make.__module__]: f"table {file.name}" for file in files}  # of plug-ins too
    of_modules |= {table: CLAIMS, report: CLAIMS}
    places = [(column.name, where) for module, where in of_modules.items() for column in _columns_in(module)]
    places += [(name, f"table {file.name}") for file in files for name in file.further_names()]
    places += [(name, "claims") for name in (*nameable(()), *(f"{name}{EXACT}" for name in FACT_UNITS), f"{PRR}*")]
    places.append((OVER_EXAMPLES, "tables as CSV and JSON"))
    columns: dict[str, str] = {}
    for name, where in places:
        columns.setdefault(name.lower(), where)
    return columns


def _columns_in(module: ModuleType) -> Iterator[Column]:
    """The columns among a module's constants, alone or in a sequence."""
    for value in vars(module).values():
        parts = value if isinstance(value, tuple | list) else (value,)
        yield from (part for part in parts if isinstance(part, Column))
