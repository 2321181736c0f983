"""The matrix product: one meaning, several implementations."""
