"""The `dataset:` block of a configuration: which keys it has and which values they take."""

from pathlib import Path
from typing import Annotated, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AllowInfNan

from rrmbench import registry
from rrmbench.components import Parameter
from rrmbench.data import catalogue, formats, kernels, makers, places
from rrmbench.errors import RrmbenchError, nearest, quoted, shortened, shown
from rrmbench.parameters import Fraction, PositiveInt, Seed

Fold = Annotated[int, Ge(0), Lt(2**63)]
Label = Annotated[int, Ge(-(2**53)), Le(2**53)] | Annotated[float, AllowInfNan(False)] | str
KEYS = {
    "name": str,
    "path": str,
    "format": Literal[tuple(formats.KEYS)],
    "label": Annotated[int, Ge(-(2**31)), Lt(2**31)] | str,
    "header": bool,
    "y": str,
    "tasks": Literal["qid"],
    "scale": Literal["none", "unit_rows", "mean_norm", "max_abs"],
    "kernel": dict,
    "bias": Literal["none", "regularized", "free", "minimized"],
    "positive": Label,
    "subset": PositiveInt,
    "subset_seed": Seed,
    "test": str,
    "flip": Fraction,
    "flip_seed": Seed,
    "split": Annotated[float, Gt(0), Lt(1)],
    "split_seed": Seed,
    "folds": str,
    "test_fold": Fold,
    "train_fold": Fold,
    "zero_based": bool,
}
MEANING = {
    "name": "a registered data set, or a function that makes one with parameters of its own (`rrmbench list datasets`)",
    "path": "a file, in place of a name; or the plug-in file (.py) of the function",
    "format": "of a file, where its suffix does not tell: docs/data.md",
    "label": "of CSV, Parquet and npy: the column of the labels, by name or by number from 0",
    "header": "of CSV: whether its first line has names",
    "y": "of npz and npy: a file of labels",
    "tasks": "a multi-task problem: W (features, tasks), the task is a row's `qid`; `split` splits each",
    "scale": "`unit_rows`; `mean_norm` divides by the mean row norm; `max_abs` by the largest size of an entry of each "
    "column; factors come from the training part",
    "kernel": "`linear`, `{name: rbf, gamma: 0.1}` or `{name: polynomial, degree: 3, coef0: 1}` (without gamma it is "
    "1/d): w are the coordinates of the kernel predictor in an orthonormal basis of the span of the samples, ||w|| its "
    "norm; at most 5,000 rows",
    "bias": "`regularized`: a column of ones after scaling; `free`: one whose weight is in neither psi nor l2; "
    "`minimized`: no column, every objective is that of the best bias for w",
    "positive": "the label of class +1; also for comma lists of labels",
    "subset": "the first rows",
    "subset_seed": "as many random rows in place of the first",
    "test": "the test part, by name or path",
    "flip": "the fraction of training labels that are flipped",
    "flip_seed": "of the flips",
    "split": "the fraction of the rows that is the training part",
    "split_seed": "of the split",
    "folds": "a file with lines `qid fold`, where the registry has none",
    "test_fold": "this fold is the test part",
    "train_fold": "this fold is the training part",
    "zero_based": "whether the first index of the file is 0, where the file does not tell",
}
SEED_OF = {"subset_seed": "subset", "flip_seed": "flip", "split_seed": "split"}
# what the keys mean when they are absent: both spellings have one identity
ABSENT = {
    "tasks": None,
    "scale": "none",
    "kernel": None,
    "bias": "none",
    "positive": None,
    "subset": None,
    "subset_seed": None,
    "flip": 0.0,
    "flip_seed": 0,
    "split": None,
    "split_seed": 0,
    "test_fold": None,
    "train_fold": None,
}
NOT_OF_MADE = ("format", "label", "header", "y", "zero_based", "test")
RATINGS_HAVE_NO = {
    "tasks": "qid",
    "scale": "features to scale",
    "kernel": "features",
    "bias": "features beside which there is a bias",
    "positive": "classes",
    "zero_based": "index base, their ids are any numbers",
    "test_fold": "qid by which they are in one",
    "train_fold": "qid by which they are in one",
}


def check(block, where="dataset", folder=None):
    """Return one `dataset:` block as a mapping with valid values, only of the keys that were set.

    `block` is a mapping, or a bare string: a registered name, else a path. Paths are absolute in the result;
    relative ones are taken from `folder` (default: the current one). Raises RrmbenchError naming `where.key`.
    """
    folder = Path.cwd() if folder is None else Path(folder)
    if isinstance(block, str):
        source = _source(block, where, folder, made=True)
        return source if makers.component_of(source, where) is None else check(source, where, folder)
    if not isinstance(block, dict):
        raise RrmbenchError(f"{where}: found {shown(block)}, allowed is a data set name, a path, or a mapping of keys")
    block = makers.spelled(block)
    component = makers.component_of(block, where, reserved=KEYS)
    values = {key: value for key, value in block.items() if component and key in component.parameters}
    for key in block:
        if key not in values:
            _check_key(key, where, component)
    checked = {key: _check_value(key, value, where) for key, value in block.items() if key not in values}
    _check_together(checked, where, component)
    if component:
        values = makers.parameters(component, values, where, folder)
        checked |= {"name": component.name} | component.plugin | values
    elif "name" in checked:
        catalogue.get(checked["name"], f"{where}.name")
    else:
        checked["path"] = existing(checked["path"], f"{where}.path", folder)
    if "test" in checked:
        (checked["test"],) = _source(checked["test"], f"{where}.test", folder).values()
    for key in "folds", "y":
        if key in checked:
            checked[key] = existing(checked[key], f"{where}.{key}", folder)
    _check_layout(checked, where)
    _check_format(checked, where)
    return checked


def generated(block):
    """(Component, its parameters) of a checked block whose data a function makes, or None."""
    component = makers.component_of(block, "dataset")
    return component and (component, {key: block[key] for key in component.parameters if key in block})


def files(block):
    """The absolute paths of the files that a checked block names, those of a function's parameters among them."""
    component, values = generated(block) or (None, {})
    of_function = [value for key, value in values.items() if component.parameters[key].is_path(value)]
    named = [block[key] for key in ("path", "test", "folds", "y") if key in block]
    return of_function + [text for text in named if Path(text).is_absolute()]


def format_of(block):
    """What a checked block says, else the registry of its name; 'arrays' where a function makes the data."""
    if generated(block):
        return "arrays"
    if "format" in block:
        return block["format"]
    return catalogue.get(block["name"]).format if "name" in block else formats.of_path(block["path"])


def options_of(block):
    """How to read the file of a checked block: of `formats.KEYS`, what the block says, else the registry."""
    entry = catalogue.get(block["name"]) if "name" in block else None
    said = {key: getattr(entry, key) for key in ("label", "header") if getattr(entry, key, None) is not None}
    keys = (key for key in formats.KEYS[format_of(block)] if key != "zero_based")
    return {key: (said | block)[key] for key in keys if key in said | block}


def preparation_steps(block):
    """All steps of preparation of a checked block, absent keys included: equal for equal preparations."""
    steps = ABSENT | {key: value for key, value in block.items() if key in ABSENT}
    if steps["kernel"] is not None:
        steps["kernel"] = kernels.with_defaults(steps["kernel"])
    return steps


def existing(text, where, folder=None):
    """The absolute path of a file as text; RrmbenchError naming `where` if there is no such file."""
    folder = Path.cwd() if folder is None else folder
    path = places.file_at(text, [folder], where)
    if path is None:
        raise RrmbenchError(f"{where}: {places.why_none(text if '://' in text else str(folder / text))}")
    return str(path.resolve())


def _check_key(key, where, component):
    allowed = [*(component.parameters if component else ()), *KEYS]
    if key not in allowed:
        text = quoted(key)
        raise RrmbenchError(
            f"{where}.{text}: unknown key '{text}'{nearest(text, allowed)} (allowed: {', '.join(allowed)})"
        )
    if component and key in NOT_OF_MADE:
        raise RrmbenchError(f"{where}.{key}: is for files, and '{component.name}' is made by a function")


def _check_value(key, value, where):
    if key == "kernel":
        return kernels.check(value, f"{where}.{key}")
    try:
        value = Parameter(key, KEYS[key]).check(value, f"{where}.{key}")
    except RrmbenchError as error:
        choices = get_args(KEYS[key]) if get_origin(KEYS[key]) is Literal and isinstance(value, str) else ()
        raise RrmbenchError(f"{error}{nearest(value[:50], choices)}" if choices else str(error)) from None
    # 1 and 1.0 are one label, and must give one identity
    whole = key == "positive" and not isinstance(value, str) and abs(value) <= 2**53 and float(value).is_integer()
    return int(value) if whole else value


def _check_together(block, where, component):
    if component is None and ("name" in block) == ("path" in block):
        found = "both" if "name" in block else "neither"
        raise RrmbenchError(f"{where}: found {found} of 'name' and 'path', exactly one is needed")
    for seed, key in SEED_OF.items():
        if seed in block and key not in block:
            raise RrmbenchError(f"{where}.{seed}: has no effect without '{key}'")
    chosen = [key for key in ("test_fold", "train_fold") if key in block]
    parts = [key for key in ("test", "split", *chosen) if key in block]
    if len(parts) > 1:
        raise RrmbenchError(f"{where}: found both '{parts[0]}' and '{parts[1]}'; a test part comes from one of them")
    if "folds" in block and not chosen:
        raise RrmbenchError(f"{where}.folds: has no effect without 'test_fold' or 'train_fold'")
    if "zero_based" in block and "name" in block:
        raise RrmbenchError(
            f"{where}.zero_based: only for a path; the registry fixes the index base of '{block['name']}'"
        )


def _check_format(block, where):
    if generated(block):
        return
    found = format_of(block)
    if "name" in block and found != (stored := catalogue.get(block["name"]).format):
        raise RrmbenchError(
            f"{where}.format: found '{found}', but the registry says that '{block['name']}' is in the format '{stored}'"
        )
    for key in {key for keys in formats.KEYS.values() for key in keys} & set(block):
        if key not in formats.KEYS[found] or (key != "zero_based" and "name" in block):
            of = [format for format, keys in formats.KEYS.items() if key in keys]
            whose = f"'{block['name']}', which the registry describes" if "name" in block else f"the format '{found}'"
            raise RrmbenchError(f"{where}.{key}: is for files in the format {' or '.join(of)}, and not for {whose}")
    if "test" in block:
        test = {"path" if Path(block["test"]).is_absolute() else "name": block["test"]}
        of_ratings = "ratings" in (found, format_of(test))
        if of_ratings and found != format_of(test) and not ("path" in test and found == "ratings"):
            raise RrmbenchError(
                f"{where}.test: found '{block['test']}' in the format '{format_of(test)}', "
                f"but the training part is in the format '{found}'"
            )


def _check_layout(block, where):
    if format_of(block) == "ratings":
        for key, what in RATINGS_HAVE_NO.items():
            if key in block and (key not in ABSENT or block[key] != ABSENT[key]):
                raise RrmbenchError(
                    f"{where}.{key}: found {block[key]!r}, but ratings are entries of a matrix and have no {what}"
                )
    for key in "test_fold", "train_fold":
        if key in block and "tasks" in block:
            raise RrmbenchError(f"{where}.{key}: not possible with 'tasks': every task would be in one part only")
        if key in block and "folds" not in block and not _registered_folds(block):
            raise RrmbenchError(f"{where}.{key}: needs 'folds', a file with lines 'qid fold'; the registry has none")
    if "tasks" in block and "kernel" in block:
        raise RrmbenchError(f"{where}.kernel: not possible with 'tasks', which share the features themselves")
    if "tasks" in block and block.get("bias") in ("free", "minimized"):
        raise RrmbenchError(f"{where}.bias: found '{block['bias']}', with 'tasks' allowed are 'none' and 'regularized'")


def _registered_folds(block):
    return "name" in block and not generated(block) and catalogue.get(block["name"]).folds


def _source(text, where, folder, made=False):
    """{"name": ...} of a registered data set (or, where `made`, of a function's), or {"path": ...} of a file."""
    if catalogue.file_of(text) is not None:
        return {"name": text}
    if made and text in registry.names("dataset"):
        return {"name": text} | registry.lookup("dataset", text).plugin
    path = places.file_at(text, [folder], where)
    if path is None:
        close = catalogue.hint(text[:50], registry.names("dataset") if made else ())
        raise RrmbenchError(
            f"{where}: found {shown(text)}, which is neither a registered data set nor a file "
            f"({shortened(str(folder / text))}){close}; 'rrmbench list datasets' shows the names"
        )
    return {"path": str(path.resolve())}
