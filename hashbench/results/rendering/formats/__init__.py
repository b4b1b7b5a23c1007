"""The output formats of tables, one or two in a file; each file lists them in `RENDERERS`."""
