"""Vectors of tokens to states of tokens: one file per architecture, chosen by name in base.py."""
