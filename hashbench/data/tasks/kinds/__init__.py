"""Kinds of task, one file each, found by listing this folder: each ends in `KIND`, some in `TASKS` too."""
