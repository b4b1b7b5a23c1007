"""Where text comes from: the sources of tables and corpora, and how rows become batches."""
