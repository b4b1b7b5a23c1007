"""Figures from the results store alone: `python -m analysis.pareto --db results.db`."""
