"""Sweeps: the plan, the workers, and what remains to be done."""
