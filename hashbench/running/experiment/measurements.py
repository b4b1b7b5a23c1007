"""The keys of what is measured beside scores: time and memory, and how well trained models bear noise."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from hashbench.data.tasks.blocks import NameOf, Strict

Share = Annotated[float, Field(ge=0, le=1)]


class Efficiency(Strict):
    """What an efficiency run measures, model and baseline in turn."""

    pairs: int = Field(
        default=12,
        gt=0,
        description="fewest measured pairs of (model, baseline), in rounds A B B A; twelve give an interval",
    )
    width: float = Field(
        default=0.05,
        gt=0,
        description="measure on until the 95 % interval of the ratio is narrower than this share of the ratio",
    )
    limit_s: float = Field(
        default=10.0, ge=0, description="seconds after which one ratio is measured no further, whatever its interval"
    )
    repeats: int = Field(
        default=1,
        gt=0,
        description="measurements of each model, each a run of its own: a claim on times needs two, better three",
    )
    pretrain_batch_size: int | None = Field(
        default=None,
        gt=0,
        description="sequences of a timed pre-training step; null: 8 on a CPU, on a GPU as many as fill it",
    )
    pretrain_length: int = Field(default=512, ge=8, description="tokens of a timed pre-training sequence")
    infer_batch_size: int | None = Field(
        default=None,
        gt=0,
        description="rows of a timed forward pass; null: 32 on a CPU, on a GPU as many as fill it",
    )
    infer_samples: int | None = Field(
        default=None, gt=0, description="dev texts of a task that are timed; null: 128 on a CPU, 2,048 on a GPU"
    )


class Robustness(Strict):
    """Evaluations of fine-tuned models on the reporting sets with noise in the texts, the same for every model."""

    perturbations: tuple[Annotated[str, NameOf("perturbation")], ...] = Field(
        default=("swap", "delete", "insert", "keyboard", "case", "misspelling", "unseen"),
        min_length=1,
        description=(
            "adjacent characters swapped, one left out, one put in, one of a neighbouring key, another case, a common"
            " misspelling, a form that the pre-training corpora lack"
        ),
    )
    rates: tuple[Share, ...] = Field(
        default=(0.0, 0.05, 0.1, 0.2),
        min_length=1,
        description="shares of the words of a text that are changed; 0, the text as it is, is always evaluated",
    )
    seed: int = Field(default=0, ge=0, description="seed of the choice of words and of their changes")

    @model_validator(mode="after")
    def _once_each(self) -> Robustness:
        for key, values in (("perturbations", self.perturbations), ("rates", self.rates)):
            for i, value in enumerate(values):
                if value in values[:i]:
                    raise ValueError(f"{key}: {value} stands twice; keep one of them")
        if not any(self.rates):
            raise ValueError("rates: only 0; give a share of words to change, as 0.1")
        return self

    @property
    def all_rates(self) -> tuple[float, ...]:
        """The rates in ascending order, 0 among them."""
        return tuple(sorted({0.0, *self.rates}))
