"""What is predicted: corruption of type ids, heads and losses; no model code."""
