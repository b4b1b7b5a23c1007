"""The report as one self-contained page: tables, figures and the provenance of every cell."""
