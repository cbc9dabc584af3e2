"""rrmbench."""
