"""What to run: the experiment file, its models, recipes and runs."""
