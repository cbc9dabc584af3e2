"""Coordinate ascent on the dual."""
