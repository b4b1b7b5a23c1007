"""The command line: parse, call, print. `app.main` is what the installed `hashbench` command calls."""
