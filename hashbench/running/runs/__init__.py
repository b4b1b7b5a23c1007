"""Kinds of run, one file each."""
