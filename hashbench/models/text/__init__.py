"""Texts to types: tokenizers, type tables and arrays of type ids."""
