"""Trained models as folders that work without the database: written from a run, loaded to predict."""
