"""The plan of an experiment, and the workers that carry it out."""
