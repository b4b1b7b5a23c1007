"""Training on Lightning: pre-training, fine-tuning, and what they share."""
