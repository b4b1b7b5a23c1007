"""Names that tables and claims use for themselves: no task, further set or model of a user may have one.

They are taken from the columns: those written in the modules of tables, those whose names depend on an experiment's
values (`TableFile.further_names`), and those that a claim may name.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator
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
SHOWN = ("average", "total_params", "emb_params", "run_minutes")  # examples in the message


def check_name(name: str, what: str, *, baselines: Collection[str], remedy: str) -> None:
    """Raises InputError if `name` is that of a column or of a trivial baseline, in whatever case.

    `what`: the kind of thing with this name. `baselines`: the names of trivial baselines.
    """
    if name.lower() in {baseline.lower() for baseline in baselines}:
        raise InputError(f"{what} {name!r}: is the name of a trivial baseline ({', '.join(baselines)}); {remedy}")
    patterns = reserved_columns()
    if any(fnmatchcase(name.lower(), pattern) for pattern in patterns):
        others = f"{', '.join(SHOWN)} and {len(patterns) - len(SHOWN)} more"
        raise InputError(f"{what} {name!r}: is the name of a column of tables or claims ({others}); {remedy}")


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
def reserved_columns() -> frozenset[str]:
    """Names of columns in lower case, as patterns of fnmatch."""
    files = registered("table").values()
    modules = {*modules_of("hashbench.results.tables"), table, report}
    modules |= {sys.modules[file.make.__module__] for file in files}  # of plug-ins
    names = {column.name for module in modules for column in _columns_in(module)}
    names |= {name for file in files for name in file.further_names()}
    names |= {*nameable(()), *(f"{name}{EXACT}" for name in FACT_UNITS), f"{PRR}*", OVER_EXAMPLES}
    return frozenset(name.lower() for name in names)


def _columns_in(module: ModuleType) -> Iterator[Column]:
    """The columns among a module's constants, alone or in a sequence."""
    for value in vars(module).values():
        parts = value if isinstance(value, tuple | list) else (value,)
        yield from (part for part in parts if isinstance(part, Column))
