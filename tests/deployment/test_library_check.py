"""Every family under every encoder, exported and loaded by a new process that has no hashbench."""

from __future__ import annotations
