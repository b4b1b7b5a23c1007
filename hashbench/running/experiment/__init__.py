"""The experiment file: its keys, its models and recipes, and the identity of its runs."""
