"""Plain data, as JSON can say them."""

import math


def finite(content):
    """Return plain data with null for every number that JSON has no name for."""
    if isinstance(content, dict):
        return {key: finite(value) for key, value in content.items()}
    if isinstance(content, (list, tuple)):
        return [finite(value) for value in content]
    return None if isinstance(content, float) and not math.isfinite(content) else content
