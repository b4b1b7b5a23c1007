"""The formats of tables, one or two in a file: every `Renderer` in `RENDERERS` is offered."""
