"""Settings for all tests."""

from hypothesis import settings

# Kernels compile inside of a first example; the same examples in each run.
settings.register_profile("rrmbench", deadline=None, max_examples=60, derandomize=True)
settings.load_profile("rrmbench")
