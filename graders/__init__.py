"""The autograder: intake, checks, scores and feedback."""
