"""Text sides without hashbench: sources in Python's standard library, and the same in JavaScript beside them.

A tokenizer or coder names one of them as its `PortablePart`; deployment/text_side.py joins parts to one file a
language, in which all share one namespace: names here are unique.
"""
