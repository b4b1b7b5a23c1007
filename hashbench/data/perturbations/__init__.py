"""Perturbations of the words of texts, such as misspellings and unseen forms, one file a family."""
