"""Values, models and tasks in the words of the small print."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from itertools import product

NAMES_SHOWN = 3  # models or tasks that are named before they are only counted
ModelTask = tuple[str, str | None]  # a model and a task; None: of no task


def plain(value: object) -> str:
    """A value of a recipe as a reader writes it.

    >>> plain(500000), plain(1e-4), plain(5e-5), plain([0.9, 0.9999]), plain(None), plain(True)
    ('500,000', '0.0001', '5e-05', '0.9, 0.9999', 'none', 'yes')
    """
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, list | tuple):
        return ", ".join(plain(item) for item in value)
    return str(value)


def where_it_holds(places: Collection[ModelTask], everywhere: Collection[ModelTask]) -> str:
    """' for a on mrda', of the models and tasks that a value holds for; nothing where it holds for all.

    >>> everywhere = [("a", "sst2"), ("a", "rte"), ("b", "sst2"), ("b", "rte")]
    >>> where_it_holds(everywhere[:2], everywhere), where_it_holds(everywhere[::2], everywhere)
    (' for a', ' on sst2')
    >>> where_it_holds(everywhere[:1], everywhere), where_it_holds(everywhere, everywhere)
    (' for a on sst2', '')
    """
    some, whole = set(places), set(everywhere)
    if some == whole:
        return ""
    models, tasks = (list(dict.fromkeys(place[i] for place in places)) for i in (0, 1))
    all_models, all_tasks = ({place[i] for place in whole} for i in (0, 1))
    of_models = f" for {_named(models, len(all_models), 'models')}"
    on_tasks = f" on {_named(tasks, len(all_tasks), 'tasks')}"
    if some == {place for place in whole if place[0] in models}:
        return of_models
    if some == {place for place in whole if place[1] in tasks}:
        return on_tasks
    if some == set(product(models, tasks)) & whole:
        return of_models + on_tasks
    return f" in {len(some)} of {len(whole)} pairs of model and task"


def _named(names: Sequence[str | None], n_all: int, what: str) -> str:
    return ", ".join(map(str, names)) if len(names) <= NAMES_SHOWN else f"{len(names)} of {n_all} {what}"


def distinct(values: Iterable[object]) -> str:
    """Each value once, in order.

    >>> distinct([8, 1, 8])
    '8, 1'
    """
    return ", ".join(plain(value) for value in dict.fromkeys(values))
