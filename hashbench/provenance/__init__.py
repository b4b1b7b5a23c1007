"""What a result was made with: the machine and its packages, and the source files that its run uses."""
