"""Where text comes from: tasks and corpora, their sources, and the batches made of them."""
