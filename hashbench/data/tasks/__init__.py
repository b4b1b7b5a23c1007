"""Tasks: kinds of task, named tasks, their data and batches, and trivial baselines."""
