"""Templates of components, and of their tests, written under a name of one's own."""

import importlib.util
import json
import keyword
import re
import sys
from pathlib import Path

from rrmbench import registry
from rrmbench.data import catalogue
from rrmbench.errors import RrmbenchError, nearest, shown
from rrmbench.files import replacing
from rrmbench.kinds import COMPONENTS

TEMPLATES = Path(__file__).parent / "templates"
EXAMPLE = {"regularizer": {"strength": 1e-2}}  # values of what a template requires


def write(kind, name, folder=Path(), stochastic=False):
    """Write NAME.py and test_NAME.py of a kind into a folder, which is made; return both paths.

    Raises RrmbenchError for an unknown kind, for a name that is taken or is no identifier, and where a file exists.
    """
    template = _template(kind, stochastic)
    _check_name(kind, name)
    folder = Path(folder)
    texts = {folder / f"{name}.py": template, folder / f"test_{name}.py": TEMPLATES / "test_component.py"}
    for path in texts:
        if path.exists():
            raise RrmbenchError(f"{path}: it exists, and is not overwritten; choose another name or folder (-o)")
    for path, source in texts.items():
        with replacing(path) as file:
            file.write(named(source.read_text(encoding="utf-8"), name).encode())
    return tuple(texts)


def named(text, name):
    """The text of a template with a component's name, and its class's."""
    return text.replace("CLASS", "".join(part.capitalize() for part in name.split("_"))).replace("NAME", name)


def yaml_line(kind, name, file):
    """The line of a configuration that uses the file."""
    values = "".join(f", {key}: {value:g}" for key, value in EXAMPLE.get(kind, {}).items())
    path = str(file) if re.fullmatch(r"[\w./][\w./ -]*", str(file)) else json.dumps(str(file), ensure_ascii=False)
    return f"{kind}: {{path: {path}, name: {name}{values}}}"


def _template(kind, stochastic):
    if kind not in COMPONENTS:
        raise RrmbenchError(f"new: found '{kind}', allowed is {', '.join(COMPONENTS)}{nearest(kind, COMPONENTS)}")
    if stochastic and kind != "solver":
        raise RrmbenchError(f"new: --stochastic is for solvers, found '{kind}'")
    return TEMPLATES / f"{'stochastic_' * stochastic}{kind}.py"


def _check_name(kind, name):
    if not (name.isidentifier() and name.isascii()) or keyword.iskeyword(name) or name.startswith("_"):
        fit = "".join(c if c.isascii() and c.isalnum() else "_" for c in name).strip("_")
        hint = f"; did you mean '{fit}'?" if fit.isidentifier() and not keyword.iskeyword(fit) else ""
        raise RrmbenchError(f"new: found the name {shown(name)}, allowed is a Python identifier of ASCII{hint}")
    if _is_taken(kind, name):
        raise RrmbenchError(f"new: the {kind} name '{name}' is taken; choose another, such as 'my_{name}'")
    if name in sys.stdlib_module_names or importlib.util.find_spec(name) is not None:
        raise RrmbenchError(f"new: {name}.py would hide the module '{name}'; choose another name, such as 'my_{name}'")


def _is_taken(kind, name):
    if kind == "dataset" and name in catalogue.names():
        return True
    try:
        registry.lookup(kind, name)
    except RrmbenchError:
        return False
    return True
