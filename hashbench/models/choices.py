"""Words that a model's spec and an experiment file choose from."""

from typing import Literal

EncoderSize = Literal["tiny", "mini", "small", "medium", "base"]  # the keys of encoders.transformer.SHAPES
Pooling = Literal["first", "max", "mean", "attention"]  # of the states of a text, by the head of a task
