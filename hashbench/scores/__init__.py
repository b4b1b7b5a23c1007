"""Metrics, found by listing this folder: each says how it scores outputs, and examples drawn with replacement."""
