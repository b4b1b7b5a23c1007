"""The results store: one SQL database of experiments, runs, attempts and what they measured."""
