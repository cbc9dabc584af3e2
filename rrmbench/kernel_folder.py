"""Where machine code of kernels is kept from one process to the next, and of whose code: said by whoever starts.

Without a word kernels are compiled in every process. This module imports nothing, so that the folder can be chosen
before numba is loaded; it may be changed at any time, since kernels look it up at each first call of a signature.
"""

_chosen = _choose = None


def use(folder_of):
    """Keep machine code made of functions and classes in certain files in folder_of(files), if that is not None.

    Among `files`, None stands for code that no file has.
    """
    global _chosen
    _chosen = folder_of


def use_by_default(choose):
    """Let `choose()` call `use` when the first kernel is defined, unless somebody has called it by then."""
    global _choose
    _choose = choose


def chosen():
    """The function that `use` was given last, or None."""
    if _chosen is None and _choose is not None:
        _choose()
    return _chosen
