"""Corpora as type ids, prepared once for all models of a tokenizer, and the batches of a pre-training."""
