"""The formats of tables, a file each or a few that are alike: every `Renderer` in `RENDERERS` is offered."""
