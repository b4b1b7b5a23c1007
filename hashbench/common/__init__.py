"""Helpers for all packages: errors, registry, checksums, files made once and shared by machines, screen text."""
