"""Perturbations of words, one file a family: what becomes of a word, and how tables call it."""
