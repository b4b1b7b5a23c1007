"""From a string to a loss: tokenizers, coders, embeddings, encoders, heads and objectives."""
