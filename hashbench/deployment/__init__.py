"""Exported models for devices: a plain graph, the text side without hashbench, folders for other libraries."""
