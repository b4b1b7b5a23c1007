"""Codes of types to vectors: base.py has the interface, then one file per family with its named models."""
