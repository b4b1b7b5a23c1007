"""Sweeps: the plan of an experiment's runs, and the workers that carry them out."""
