"""How sure a score or a difference is: draws of examples, and intervals over seeds and examples."""
