"""The cache of machine code, kept by the code that it is of.

numba looks only at the file of a cached kernel, so an edited loss would leave stale machine code behind. The folder of
a kernel is therefore named after the digest of all mathematics and, if it has code of the user's plug-ins, of them,
taken before they are imported.
"""

import json
import os
import sys
from pathlib import Path

from rrmbench import kernel_folder
from rrmbench.fingerprint import digest, is_shipped, mathematics, sources_of, stamps, unchanged
from rrmbench.folders import cache_root
from rrmbench.loaded_code import files_of_modules, unforeseen

_keyed = {}  # the files of plug-ins that the kernel cache is keyed by, with their stamps


def use(plugins=None):
    """Keep machine code of kernels by the code that it is of, for this process and children.

    Kernels of the package alone are in the folder of this mathematics, those with code of plug-ins in the folder of
    this mathematics and these plug-ins: an edit of a plug-in leaves the others where they are. Without `plugins`,
    those of the process that started this one. A plug-in that is in memory already, from who knows what text, is left
    out: kernels are compiled for it again.
    """
    plugins = known_plugins() if plugins is None else sorted(str(p) for p in plugins)
    files = sources_of(*plugins)
    package = cache_root() / "kernels" / mathematics()
    with_plugins = package.with_name(f"{package.name}-{digest(*files)}") if files else package
    keyed = stamps(files)
    if any(_keyed.get(file) != s for file, s in keyed.items()):
        loaded = files_of_modules(list(sys.modules))
        keyed = {file: s for file, s in keyed.items() if file not in loaded or _keyed.get(file) == s}
    _keyed.clear()
    _keyed.update(keyed)
    if "numba" not in sys.modules:  # for what plug-ins compile by themselves
        os.environ["NUMBA_CACHE_DIR"] = str(with_plugins)
    os.environ["RRMBENCH_PLUGINS"] = json.dumps(plugins)

    def folder_of(used):
        if None in used:
            return None
        theirs = {file for file in (Path(f).resolve() for f in used) if not is_shipped(file)}
        if not theirs:
            return package
        return with_plugins if _are_keyed(theirs) else None

    kernel_folder.use(folder_of)


def known_plugins():
    """The plug-in files that the kernel cache is keyed by."""
    return json.loads(os.environ.get("RRMBENCH_PLUGINS") or "[]")


def _are_keyed(files):
    """Whether the kernel cache is keyed by the code of a set of files, and of all that plug-ins have imported."""
    return not unforeseen and files <= _keyed.keys() and unchanged(_keyed)
