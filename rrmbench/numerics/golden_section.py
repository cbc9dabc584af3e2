"""The golden section, by which searches on an interval divide it."""

GOLDEN_SECTION = 0.5 * (5.0**0.5 - 1.0)  # the part of the interval that a step keeps
