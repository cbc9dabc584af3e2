"""`make docs`: write docs/commands.md and docs/configuration.md from the command line's options and the registries."""

import sys
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Literal, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from typer.main import get_command

from rrmbench import registry
from rrmbench.cli import app
from rrmbench.commands.listing import summary
from rrmbench.config import schema
from rrmbench.data import spec
from rrmbench.kinds import KINDS

FOLDER = Path(__file__).parent
WRITTEN = "`make docs` writes this page from the code."
SIGNS = {Gt: ("gt", ">"), Ge: ("ge", ">="), Lt: ("lt", "<"), Le: ("le", "<=")}
PLAIN = {str: "text", int: "a whole number", float: "a number", bool: "true or false", dict: "a mapping", object: "any"}


def escaped(text):
    """Text as it may stand in a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|").replace("*", "\\*")


def table(header, rows):
    """The lines of a table."""
    yield ""
    yield f"| {' | '.join(header)} |"
    yield "|---" * len(header) + "|"
    yield from (f"| {' | '.join(row)} |" for row in rows)
    yield ""


def allowed(annotation):
    """The values that an annotation takes, in words."""
    if get_origin(annotation) is Annotated:
        inside, *marks = get_args(annotation)
        bounds = [mark for mark in marks if type(mark) in SIGNS]
        ends = [(SIGNS[type(mark)][1], getattr(mark, SIGNS[type(mark)][0])) for mark in bounds]
        said = [f"{sign} {end:g}" for sign, end in ends if abs(end) < 2**31]  # those are of the computer
        return f"{allowed(inside)} {' and '.join(said)}".strip() if said else allowed(inside)
    if get_origin(annotation) is Literal:
        return " or ".join(f"`{value}`" for value in get_args(annotation))
    if get_origin(annotation) in (Union, UnionType):
        return " or ".join(dict.fromkeys(allowed(one) for one in get_args(annotation) if one is not NoneType))
    return PLAIN.get(annotation) or PLAIN.get(get_origin(annotation), getattr(annotation, "__name__", str(annotation)))


def commands():
    """The lines of docs/commands.md."""
    yield from ("# The command line", "", WRITTEN, "")
    yield "Exit code 0: all is well. 1: a run, a check or a verification failed, the rest is kept. 2: a usage,"
    yield "configuration or data error, with one message. 130: interrupted, finished runs are kept."
    yield "`rrmbench --version` prints the version, `--help` or `-h` after any command its options."
    yield from _group("rrmbench", get_command(app).commands)


def _group(parent, members):
    for name in sorted(members):
        command, title = members[name], f"{parent} {name}"
        if hasattr(command, "commands"):
            yield from _group(title, command.commands)
            continue
        arguments = [p for p in command.params if p.param_type_name == "argument"]
        usage = " ".join(_metavar(p) for p in arguments)
        yield from ("", f"## {title}", "", f"    {title} {usage}".rstrip(), "", escaped(command.help or ""))
        yield from table(("option", "meaning", "default"), [_option(p) for p in command.params])


def _metavar(parameter):
    name = (parameter.metavar or parameter.name.upper()).strip("[]")
    name += "..." if parameter.nargs == -1 else ""
    return name if parameter.required else f"[{name}]"


def _option(parameter):
    if parameter.param_type_name == "argument":
        name = f"`{_metavar(parameter)}`"
    else:
        value = "" if parameter.is_flag else f" {parameter.metavar or parameter.name.upper()}"
        name = f"`{', '.join((*parameter.opts, *parameter.secondary_opts))}{value}`"
    plain = parameter.default is None or parameter.default is False or callable(parameter.default)
    default = "required" if parameter.required else "" if plain else f"`{parameter.default}`"
    return name.replace("|", "\\|"), escaped(parameter.help or ""), default


def configuration():
    """The lines of docs/configuration.md."""
    yield from ("# The configuration file", "", WRITTEN, "")
    yield "YAML, where `1e-4` is a number and a key stands once. Defaults are in parentheses or in a column."
    yield "A parameter that the file sets is in the name of the method, its default too:"
    yield "`agd` and `{name: agd, step_scale: 1}` are two runs. In a mapping of a loss, a regularizer, a solver or a"
    yield "reduction, `path` names a file of yours that registers it. The data sets, and the functions that make some,"
    yield "are in `rrmbench list datasets`."
    yield from table(("key", "value"), [(f"`{key}`", escaped(text)) for key, text in schema.TOP_KEYS.items()])
    yield "## dataset"
    rows = [(f"`{key}`", escaped(allowed(spec.KEYS[key])), escaped(spec.MEANING[key])) for key in spec.KEYS]
    yield from table(("key", "values", "meaning"), rows)
    for name in ("stop", "trace", "reference", "tune", "plot"):
        model = schema.SECTIONS[name]
        yield from (f"## {name}", "", escaped(model.__doc__))
        yield from table(("key", "allowed", "default"), [_field(*item) for item in model.model_fields.items()])
    for kind, plural in KINDS.items():
        yield f"## {plural}"
        yield from table(("name", "parameters", "what"), [_component(kind, name) for name in registry.names(kind)])


def _field(name, field):
    default = "required" if field.is_required() else "" if field.default is None else f"`{field.default}`"
    return f"`{name}`", escaped(field.description), default


def _component(kind, name):
    component = registry.lookup(kind, name)
    parameters = "; ".join(_parameter(parameter) for parameter in component.parameters.values())
    said = [summary(component)]
    said += [f"Needs {', '.join(sorted(component.needs))}."] if component.needs else []
    said += [f"Gives {', '.join(sorted(component.gives))}."] if component.gives else []
    return f"`{name}`", escaped(parameters), escaped(". ".join(part.rstrip(".") for part in said))


def _parameter(parameter):
    default = "required" if parameter.required else f"`{parameter.default}`"
    return f"`{parameter.name}`: {allowed(parameter.annotation)} ({default})"


def pages():
    """The pages and their text: {path: text}."""
    made = {FOLDER / "commands.md": commands(), FOLDER / "configuration.md": configuration()}
    return {path: "\n".join(lines).replace("\n\n\n", "\n\n").rstrip() + "\n" for path, lines in made.items()}


if __name__ == "__main__":
    for path, text in pages().items():
        path.write_text(text, encoding="utf-8")
        sys.stdout.write(f"{path} written\n")
