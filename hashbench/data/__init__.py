"""Where text and labels come from: files, the hub, tasks, corpora and perturbed texts."""
