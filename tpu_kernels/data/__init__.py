"""Numbers with their sources, read by the models."""
