"""The grader beside stock nbgrader, on the same submissions, in one run."""
