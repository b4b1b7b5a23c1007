"""Executors: a sweep's workers as processes of this machine or on a Ray cluster."""
