"""Where machine code of kernels is kept from one process to the next, and of whose code: said by whoever starts.

Without a word kernels are compiled in every process. This module imports nothing, so that the folder can be chosen
before numba is loaded; it may be changed at any time, since kernels look it up at each first call of a signature.
"""

_chosen = _choose = None


def use(folder, is_keyed):
    """Keep machine code in `folder`, of functions and classes in files with is_keyed(file), None for no file."""
    global _chosen
    _chosen = folder, is_keyed


def use_by_default(choose):
    """Let `choose()` call `use` when the first kernel is defined, unless somebody has called it by then."""
    global _choose
    _choose = choose


def chosen():
    """(folder, is_keyed), or None."""
    if _chosen is None and _choose is not None:
        _choose()
    return _chosen
