"""Every family under every encoder, exported and loaded by a new process that has no hashbench."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

import hashbench
from hashbench.common.errors import InputError
from hashbench.common.registry import registered
from hashbench.data.sources.sources import open_sources
from hashbench.data.tasks.catalogue import find_task, load_task
from hashbench.deployment import library_check
from hashbench.deployment.forms import FACTS, Wishes, deploy
from hashbench.deployment.library_check import LIBRARIES, loaded_elsewhere
from hashbench.deployment.library_folder import MODELING, write_library_files
from hashbench.deployment.onnx_graph import texts_asked
from hashbench.deployment.text_side import texts_to_prove
from hashbench.models.embeddings.base import EncoderSpec, ModelSpec
from hashbench.models.encoders.base import find_architecture
from hashbench.models.names import Names
from hashbench.models.objectives.registry import reads_items
from tests.exported import exported_folder
