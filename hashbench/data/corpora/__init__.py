"""Corpora as type ids: made once for all models of a tokenizer, and the batches of a pre-training."""
