"""Steps with the whole of X, or along its columns."""
