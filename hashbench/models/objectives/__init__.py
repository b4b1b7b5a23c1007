"""Objectives and heads: corruption of type ids, outputs and losses over a model's states."""
