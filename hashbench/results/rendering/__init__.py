"""Tables as text, markdown, LaTeX, CSV, JSON and HTML."""
