"""Costs of a model: parameters, time and memory."""
