"""An experiment of the database as a dashboard of Weights & Biases: runs, a workspace and a report. Reads the store."""
