"""Steps along single samples of the primal."""
