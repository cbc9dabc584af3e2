"""Running experiments: a child process per run, the clock, identities, results on disk."""
