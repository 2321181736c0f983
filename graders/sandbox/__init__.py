"""A learner's code, run where it can reach nothing but what it was given."""
