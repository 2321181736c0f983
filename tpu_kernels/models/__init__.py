"""Models in the standard library alone, so that they run in a browser as they are."""
