"""The schema of experiment files with what the kinds of task bring along: their blocks, and their trivial baselines."""

from __future__ import annotations

import functools
from typing import Any, Literal, cast

from pydantic import Field, create_model

from hashbench.common.errors import InputError
from hashbench.data.tasks.base import TaskKind
from hashbench.data.tasks.catalogue import known_kinds
from hashbench.running.experiment.schema import Experiment


def experiment_schema() -> type[Experiment]:
    """The class that experiment files are read as, with a key for each kind of task that has a block.

    Raises InputError where the key of such a block is taken.
    """
    return _with_kinds(tuple(known_kinds().values()))


@functools.cache
def _with_kinds(kinds: tuple[TaskKind, ...]) -> type[Experiment]:
    floors = Experiment.model_fields["floors"]
    # Those that the default names stand first in messages.
    baselines = tuple(dict.fromkeys((*floors.default, *(name for kind in kinds for name in kind.baselines))))
    fields: dict[str, Any] = {"floors": (tuple[Literal[baselines], ...], floors)}  # type: ignore[valid-type]
    for kind in kinds:
        if kind.block is None:
            continue
        if kind.name in Experiment.model_fields:
            raise InputError(f"kind of task {kind.name!r}: its block would stand where {kind.name} does; rename it")
        fields[kind.name] = (kind.block, Field(default=kind.block(), description=kind.block_help))
    schema = create_model("Experiment", __base__=_Sent, __doc__=Experiment.__doc__, **fields)
    return cast("type[Experiment]", schema)


class _Sent(Experiment):
    """An experiment that another process can read: the class is made there anew, of the kinds that it knows."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _unfilled, (), self.__getstate__()


def _unfilled() -> Experiment:
    schema = experiment_schema()
    return schema.__new__(schema)
