"""Choices shared by experiment files and the command line, whose --help loads nothing that reads a file."""

from __future__ import annotations

from typing import Literal

EncoderSize = Literal["tiny", "mini", "small", "medium", "base"]  # the keys of encoders.transformer.SHAPES
ExecutorName = Literal["local", "ray"]
