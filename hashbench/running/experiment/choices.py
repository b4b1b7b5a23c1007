"""Words that both an experiment file and the command line take: here, since --help loads nothing that reads a file."""

from __future__ import annotations

from typing import Literal

EncoderSize = Literal["tiny", "mini", "small", "medium", "base"]  # the keys of encoders.transformer.SHAPES
ExecutorName = Literal["local", "ray"]
