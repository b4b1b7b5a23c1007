"""The key `budget` of experiments and models."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from hashbench.data.tasks.blocks import Strict

Parameters = Annotated[int, Field(gt=0)]


class Budget(Strict):
    """Equal sizes: the free size of each embedding is set to come within 2 % of a number of parameters."""

    embedding_parameters: Parameters | Annotated[tuple[Parameters, ...], Field(min_length=1)] = Field(
        description="parameters of the embedding, all counted; a list: each model once for each, as NAME-0.23M"
    )

    @property
    def is_list(self) -> bool:
        """Whether models are named after their sizes, also where the list has one."""
        return isinstance(self.embedding_parameters, tuple)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The numbers of parameters."""
        given = self.embedding_parameters
        return given if isinstance(given, tuple) else (given,)
