"""The version of this code, which need not be that of an installed package."""

__version__ = "0.1.0"
