"""`python -m hashbench`: the same as the installed command."""

from hashbench.cli.app import main

if __name__ == "__main__":
    main()
