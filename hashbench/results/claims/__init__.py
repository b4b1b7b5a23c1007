"""Claims: comparisons of models as data, decided on published numbers or on what an experiment measured."""
