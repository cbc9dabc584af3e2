"""Mistakes in configuration files: file, line, key, and what is allowed."""

import pytest
from plans import (
    BASE,
    make_folder,  # noqa: F401
    make_message,  # noqa: F401
)

MISTAKES = {
    "unknown_key": (
        "sovler: gd\n" + BASE,
        "config.yaml:1: sovler: unknown key; did you mean 'solver'? (allowed: name,",
    ),
    "unknown_name": (
        BASE.replace("squared", "sqared"),
        "config.yaml:2: loss: unknown loss 'sqared'; did you mean 'squared'?",
    ),
    "unknown_name_in_a_list": (
        BASE.replace("solver: prox_sdca", "solver:\n  - prox_sdca\n  - prox_sdcaa"),
        "config.yaml:6: solver[1]: unknown solver 'prox_sdcaa'; did you mean 'prox_sdca'?",
    ),
    "unknown_parameter": (
        BASE.replace("{name: l2, strength: 0.1}", "\n  name: l2\n  stregth: 0.1"),
        "config.yaml:5: regularizer.stregth: regularizer 'l2' has no such parameter (it has: strength); "
        "did you mean 'strength'?",
    ),
    **{
        f"unknown_parameter_like_{key}": (
            BASE.replace("solver: prox_sdca", f"solver:\n  name: agd\n  step: bound\n  {key}: 2"),
            f"config.yaml:7: solver.{key}: solver 'agd' has no such parameter",
        )
        for key in ("step-scale", "step.scale", "step scale")
    },
    "grid_in_lines": (
        BASE.replace("{name: l2, strength: 0.1}", "\n  name: l2\n  strength:\n    - 0.1\n    - -1"),
        "config.yaml:7: regularizer.strength: found -1, allowed is ",
    ),
    "grid_of_data_in_lines": (
        BASE.replace("tiny.txt", "\n  path: tiny.txt\n  subset:\n    - 2\n    - -1"),
        "config.yaml:5: dataset.subset: found -1, allowed is ",
    ),
    "names_in_lines": (
        BASE.replace("prox_sdca", "\n  name:\n    - agd\n    - agdd"),
        "config.yaml:7: solver: unknown solver 'agdd'; did you mean 'agd'?",
    ),
    "grid_inside_in_lines": (
        BASE + "reduction:\n  name: adapt_reg\n  inside:\n    - none\n    - name: smooth\n      mu:\n        - -1\n",
        "config.yaml:11: reduction.inside[1].mu: found -1, allowed is ",
    ),
    "missing_parameter": (
        BASE.replace(", strength: 0.1", ""),
        "config.yaml:3: regularizer: regularizer 'l2' needs the parameter 'strength'",
    ),
    "negative": (
        BASE.replace("0.1", "[0.1, -1]"),
        "config.yaml:3: regularizer.strength: found -1, allowed is a number of at least 0",
    ),
    "not_a_number": (
        BASE.replace("0.1", "much"),
        "config.yaml:3: regularizer.strength: found 'much', allowed is",
    ),
    "boolean": (BASE.replace("0.1", "true"), "config.yaml:3: regularizer.strength: found True, allowed is"),
    "infinite": (BASE.replace("0.1", ".inf"), "config.yaml:3: regularizer.strength: found inf, allowed is a finite"),
    "nan": (BASE.replace("0.1", ".nan"), "config.yaml:3: regularizer.strength: found nan, allowed is"),
    "nested_list": (
        BASE.replace("0.1", "[[0.1, 1]]"),
        "config.yaml:3: regularizer.strength: found [0.1, 1], allowed is",
    ),
    "empty_grid": (BASE.replace("0.1", "[]"), "config.yaml:3: regularizer.strength: the grid is empty"),
    "empty_list": (BASE.replace("prox_sdca", "[]"), "config.yaml:4: solver: the list is empty"),
    "no_name": (
        BASE.replace("name: l2, ", ""),
        "config.yaml:3: regularizer: found {'strength': 0.1}, needed is a name",
    ),
    "misspelt_name": (
        BASE.replace("name: l2", "names: l2"),
        "config.yaml:3: regularizer: found {'names': 'l2', 'strength': 0.1}, needed is a name or the path of a file; "
        "did you mean 'name'?",
    ),
    "number_for_name": (
        BASE.replace("squared", "3"),
        "config.yaml:2: loss: found 3, allowed is a name, a mapping",
    ),
    "null": (BASE.replace("squared", "~"), "config.yaml:2: loss: found None, allowed is a name, a mapping"),
    "missing_key": ("dataset: tiny.txt\nloss: squared\n", "config.yaml: the key 'solver' is missing"),
    "missing_in_case": (
        BASE.replace("dataset: tiny.txt\n", "") + "cases:\n  - dataset: no\n  - seed: 1\n",
        "config.yaml:6: cases[1]: the key 'dataset' is missing",
    ),
    "case_key": (
        BASE + "cases:\n  - {plot: {}}\n",
        "config.yaml:6: cases[0].plot: this key is for the whole file",
    ),
    "case_unknown_key": (
        BASE + "cases:\n  - {lss: hinge}\n",
        "config.yaml:6: cases[0].lss: unknown key; did you mean 'loss'",
    ),
    "case_number": (
        BASE + "cases: [3]\n",
        "config.yaml:5: cases[0]: found 3, allowed is a mapping of the keys dataset",
    ),
    "empty_cases": (BASE + "cases: []\n", "config.yaml:5: cases: found [], allowed is a list of mappings"),
    "case_value": (
        BASE + "cases:\n  - seed: 1\n  - regularizer: {name: l2, strength: -1}\n",
        "config.yaml:7: cases[1].regularizer.strength: found -1",
    ),
    "duplicate_key": (BASE + "loss: hinge\n", "config.yaml:5:1: duplicate key 'loss' (first on line 2)"),
    "empty_file": ("# nothing\n", "config.yaml: the file is empty"),
    "list_file": (
        "- a\n- b\n",
        "config.yaml: found ['a', 'b'], allowed is a mapping of the keys name, dataset",
    ),
    "stop_word": (
        BASE + "stop: {passes: many}\n",
        "config.yaml:5: stop.passes: found 'many', allowed is a finite number greater than 0",
    ),
    "stop_list": (
        BASE + "stop:\n  gap: 1e-3\n  passes: [1, 2]\n",
        "config.yaml:7: stop.passes: found [1, 2], allowed",
    ),
    "stop_zero": (
        BASE + "stop: {gap: 0}\n",
        "config.yaml:5: stop.gap: found 0, allowed is a finite number greater than 0",
    ),
    "stop_infinite": (BASE + "stop: {gap: .inf}\n", "config.yaml:5: stop.gap: found inf, allowed is a finite"),
    "stop_empty": (
        BASE + "stop: {}\n",
        "config.yaml:5: stop: found no rule, needed is at least one of passes, gap,",
    ),
    "stop_number": (
        BASE + "stop: 100\n",
        "config.yaml:5: stop: found 100, allowed is a mapping of the keys passes,",
    ),
    "stop_key": (
        BASE + "stop: {passses: 3}\n",
        "config.yaml:5: stop.passses: unknown key; did you mean 'passes'? (allowed: passes, gap,",
    ),
    "trace": (
        BASE + "trace: {growth: 0.5}\n",
        "config.yaml:5: trace.growth: found 0.5, allowed is a finite number of at least 1",
    ),
    "seed_negative": (
        BASE + "seed: [0, -1]\n",
        "config.yaml:5: seed: found [0, -1], allowed is a whole number from 0",
    ),
    "seed_float": (BASE + "seed: 1.5\n", "config.yaml:5: seed: found [1.5], allowed is a whole number"),
    "seed_empty": (BASE + "seed: []\n", "config.yaml:5: seed: the list is empty"),
    "limit": (BASE + "limit: -3\n", "config.yaml:5: limit: found -3, allowed is a number greater than 0"),
    "reference": (
        BASE + "reference: {seconds: no}\n",
        "config.yaml:5: reference.seconds: found 'no', allowed is a number",
    ),
    "name": (BASE + "name: ../up\n", "config.yaml:5: name: found '../up', allowed are letters"),
    "plot_y": (
        BASE + "plot: {y: gpa}\n",
        "config.yaml:5: plot.y: found 'gpa', allowed is one of suboptimality, gap,",
    ),
    "plot_rows": (
        BASE + "plot: {rows: regulariser}\n",
        "config.yaml:5: plot.rows: found 'regulariser', allowed is a",
    ),
    "plot_ylim": (
        BASE + "plot: {ylim: [1]}\n",
        "config.yaml:5: plot.ylim: found [1], allowed is two finite numbers",
    ),
    "tune": (
        BASE + "tune: {grid: {solver.step_scal: '2^[-10..10]'}}\n",
        "config.yaml:5: tune.grid.solver.step_scal: no solver of this file has such a parameter; did you mean 'solver.",
    ),
    "tune_of_no_component": (
        BASE + "tune:\n  grid:\n    regularizer.strength: [1]\n    solvr.step: [1]\n",
        "config.yaml:8: tune.grid.solvr.step: found 'solvr.step', allowed is a parameter of a component, like "
        "reduction.sigma; did you mean 'solver'?",
    ),
    "tune_of_what_is_set": (
        BASE + "tune: {grid: {regularizer.strength: [1, 2]}}\n",
        "config.yaml:5: tune.grid.regularizer.strength: the file sets regularizer.strength wherever a",
    ),
    "tune_of_another_solver": (
        BASE + "tune: {grid: {solver.snapshot: [1, 2]}}\n",
        "config.yaml:5: tune.grid.solver.snapshot: no solver of this file has such a parameter; it is one of svrg",
    ),
    "tune_inside_of_nothing": (
        BASE + "reduction: smooth\ntune: {grid: {reduction.inside.mu: [1, 2]}}\n",
        "config.yaml:5: reduction: reduction 'smooth' needs the parameter 'mu'",
    ),
    "tune_text": (
        BASE + "tune: {grid: {solver.step_scale: '2^[-10,10]'}}\n",
        "config.yaml:5: tune.grid.solver.step_scale: found '2^[-10,10]', allowed is a list of numbers or a text like",
    ),
    "tune_keep": (
        BASE + "tune: {grid: {regularizer.strength: [1]}, keep: worst}\n",
        "config.yaml:5: tune.keep: found 'worst', allowed is best",
    ),
    "tune_grid": (BASE + "tune: {keep: best}\n", "config.yaml:5: tune.grid: missing"),
    "dataset_key": (
        BASE.replace("tiny.txt", "\n  path: tiny.txt\n  scael: none"),
        "config.yaml:3: dataset.scael: unknown key 'scael'; did you mean 'scale'?",
    ),
    "dataset_name": (
        BASE.replace("tiny.txt", "registred"),
        "config.yaml:1: dataset.name: unknown data set 'registred'; did",
    ),
    "dataset_path": (
        BASE.replace("tiny.txt", "./none.txt"),
        "config.yaml:1: dataset.path: no such file: ./none.txt",
    ),
    "plugin_path": (
        BASE.replace("prox_sdca", "{path: none.py, name: a}"),
        "config.yaml:4: solver.path: no such file: none.py",
    ),
    "box": (
        BASE.replace("{name: l2, strength: 0.1}", "{name: box, lower: 2, upper: 1}"),
        "config.yaml:3: regularizer box: found lower = 2.0, upper = 1.0",
    ),
    "tune_overflow": (
        BASE + "tune: {grid: {solver.output: '10^[0..400]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 10^309, allowed are values from 5e-324 to 1.7e308",
    ),
    "tune_underflow": (
        BASE + "tune: {grid: {solver.output: '{2,3}*10^[-400..0]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 2 * 10^-400, allowed are values from",
    ),
    "tune_of_zero": (
        BASE + "tune: {grid: {solver.output: '0^[-5..5]'}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 0^-5, allowed are values from",
    ),
    **{
        f"tune_{name}": (
            BASE + f"tune:\n  grid:\n    solver.output: '{grid}'\n",
            f"config.yaml:7: tune.grid.solver.output: found '{grid[:100]}",
        )
        for name, grid in {
            "exponents": "2^[-1000000..1000000]",
            "long_exponents": f"2^[0..{'9' * 5000}]"[:4000],
            "two_points": "1.2.3^[0..2]",
            "point": ".^[0..2]",
            "nan": "{1,nan}*2^[0..2]",
            "infinite": "{inf}*2^[0..2]",
            "no_factor": "{1,}*2^[0..2]",
        }.items()
    },
    "tune_long_base": (
        BASE + f"tune: {{grid: {{solver.output: '{'9' * 400}^[0..2]'}}}}\n",
        "config.yaml:5: tune.grid.solver.output: found 1 * 9999999999",
    ),
    "tune_by_texts": (
        BASE.replace("prox_sdca", "agd") + "tune: {grid: {solver.step: [bound, backtracking]}}\n",
        "config.yaml:5: tune.grid.solver.step: found ['bound', 'backtracking'], allowed is a list of numbers or a text",
    ),
    "tune_by_nothing": (
        BASE + "tune: {grid: {}}\n",
        "config.yaml:5: tune.grid: found {}, allowed is a mapping of parameters, at least one, to grids",
    ),
    "tune_gap_of_objectives": (
        BASE.replace("prox_sdca", "svrg") + "tune: {grid: {solver.step_scale: [1, 2]}, gap: 1e-3}\n",
        "config.yaml:5: tune.gap: found 0.001, allowed is a gap with 'by: passes_to_gap' alone",
    ),
    "tune_value": (
        BASE.replace("prox_sdca", "svrg") + "tune:\n  grid:\n    solver.step_scale: [1, -1]\n",
        "config.yaml:7: tune.grid.solver.step_scale: found -1.0, allowed is a number greater than 0",
    ),
    "inside_a_data_set": (
        BASE.replace("tiny.txt", "{path: tiny.txt, inside: smooth}"),
        "config.yaml:1: dataset.inside: unknown key 'inside'",
    ),
    "inside_a_loss": (
        BASE.replace("squared", "{name: squared, inside: [1, 2]}"),
        "config.yaml:2: loss.inside: loss 'squared' has no such parameter (it has: none)",
    ),
    "inside_a_solver": (
        BASE.replace("prox_sdca", "{name: prox_sdca, inside: {path: none.py}}"),
        "config.yaml:4: solver.inside: solver 'prox_sdca' has no such parameter",
    ),
    "long_name": (
        BASE + f"name: {'a' * 101}\n",
        f"config.yaml:5: name: found '{'a' * 101}', allowed are letters",
    ),
    "long_data_set": (
        BASE.replace("tiny.txt", "a" * 300),
        f"config.yaml:1: dataset: found '{'a' * 149} ... {'a' * 49}' (302 characters), which cannot be a file: ",
    ),
    "long_path": (
        BASE.replace("tiny.txt", f"{{path: {'a' * 300}}}"),
        f"config.yaml:1: dataset.path: found '{'a' * 149} ... ",
    ),
    "long_test": (
        BASE.replace("tiny.txt", f"{{path: tiny.txt, test: /{'a' * 300}}}"),
        f"config.yaml:1: dataset.test: found '/{'a' * 148} ... ",
    ),
    "long_plugin": (
        BASE.replace("prox_sdca", f"{{path: {'a' * 300}.py}}"),
        f"config.yaml:4: solver.path: found '{'a' * 149} ... ",
    ),
    "facet": (
        BASE + "plot:\n  columns: regularizer.strengt\n",
        "config.yaml:6: plot.columns: no run has the key 'regularizer.strengt'; did you mean 'regularizer.strength'?",
    ),
    "facets": (
        BASE + "plot: {figure: [loss, solver.step]}\n",
        "config.yaml:5: plot.figure: no run has the key 'solver.step'",
    ),
    "facet_twice": (
        BASE + "plot: {rows: solver, columns: solver}\n",
        "config.yaml:5: plot.columns: found 'solver', which plot.rows has already",
    ),
    "facet_of_no_component": (
        BASE + "plot: {rows: solverr}\n",
        "config.yaml:5: plot.rows: found 'solverr', allowed is a component (dataset, loss, regularizer, solver, "
        "reduction), one of its parameters (regularizer.strength) or seed; did you mean 'solver'?",
    ),
    "axis": (
        BASE + "plot: {x: pases}\n",
        "config.yaml:5: plot.x: found 'pases', allowed is passes, work, seconds or cpu_seconds; did you mean 'passes'?",
    ),
    "short_key": (BASE + "yes: 1\n", "config.yaml:5: yes: unknown key (allowed: name,"),
    "short_name": (BASE.replace("prox_sdca", "no"), "config.yaml:4: solver: unknown solver 'no' (allowed: "),
    "long_groups": (
        BASE.replace("{name: l2, strength: 0.1}", f"{{name: group_lasso, strength: 1, groups: {'a' * 300}}}"),
        f"config.yaml:3: regularizer.groups: found '{'a' * 149} ... ",
    ),
    "long_key": (BASE + f"{'a' * 300}: 1\n", "config.yaml:5:1: found a key of 300 characters, allowed are at most 200"),
    "long_text": (
        BASE + f"plot: {{title: '{'a' * 5000}'}}\n",
        "config.yaml:5:15: found a text of 5000 characters, allowed are at most 4096",
    ),
    "nul": (BASE.replace("tiny.txt", '"a\\0b"'), "config.yaml:1:10: found the character '\\x00', allowed are texts"),
    "half_a_pair": (BASE.replace("tiny.txt", '"\\ud800"'), "config.yaml:1:10: found the character '\\ud800'"),
    "no_home": (BASE.replace("tiny.txt", "~nobody_there/x"), "config.yaml:1: dataset: found '~nobody_there/x'"),
    "plugin_that_is_not_there": (
        BASE.replace("prox_sdca", "{path: /nowhere/a.py, name: a}"),
        "config.yaml:4: solver.path: no such file: /nowhere/a.py",
    ),
    "plugin_that_is_a_directory": (
        BASE.replace("prox_sdca", "{path: /usr, name: a}"),
        "config.yaml:4: solver.path: a folder, not a file: /usr",
    ),
    "plugin_without_path": (
        BASE.replace("prox_sdca", "mine.py"),
        "config.yaml:4: solver: unknown solver 'mine.py'; a file of yours is {path: mine.py}",
    ),
    "device": (
        BASE.replace("tiny.txt", "/dev/zero"),
        "config.yaml:1: dataset.path: no regular file: /dev/zero",
    ),
    "url": (
        BASE.replace("tiny.txt", "{path: 'https://example.org/a.txt'}"),
        "config.yaml:1: dataset.path: a URL, not a file: https://example.org/a.txt; download it first",
    ),
    "box_of_a_number": (
        BASE.replace("0.1}", "0.1, domain: {box: 3}}"),
        "config.yaml:3: regularizer.domain.box: found 3, allowed is {box: [a, b]} with",
    ),
    "long_integer": (
        BASE.replace("0.1", "1" * 400),
        "config.yaml:3:35: found an integer of 400 digits, allowed are at most 300",
    ),
    "longer_integer": (
        BASE.replace("tiny.txt", f"{{path: tiny.txt, positive: {'1' * 5000}}}"),
        "config.yaml:1:37: found an integer of 5000 digits",
    ),
    "seed_integer": (BASE + f"seed: -{'1' * 400}\n", "config.yaml:5:7: found an integer of 401 digits"),
    "radius": (
        BASE.replace("0.1}", f"0.1, domain: {{ball: {'1' * 400}}}}}"),
        "config.yaml:3:55: found an integer of 400 digits",
    ),
    "below_float": (BASE.replace("0.1", "1e-400"), "config.yaml:3:35: found 1e-400, allowed are 0, and numbers from"),
    "beyond_float": (BASE.replace("0.1", "1e400"), "config.yaml:3:35: found 1e400, allowed are numbers up to 1.7e308"),
    "beyond_64_bits": (
        BASE.replace("tiny.txt", "{path: tiny.txt, subset: 9223372036854775808}"),
        "config.yaml:1: dataset.subset: found 9223372036854775808, allowed is a whole number of at most 64 bits",
    ),
    "nan_without_bounds": (
        BASE.replace("squared", "{name: ordinal_hinge, theta_1: .nan}"),
        "config.yaml:2: loss.theta_1: found nan, allowed is a number",
    ),
    "limit_of_no_clock": (BASE + "limit: 1e10\n", "config.yaml:5: limit: found 10000000000.0, allowed is a number"),
    "plot_nan": (
        BASE + "plot: {xlim: [.nan, 1]}\n",
        "config.yaml:5: plot.xlim: found nan, allowed is two finite numbers [low, high] with low < high",
    ),
    "plot_infinite": (BASE + "plot: {ylim: [1, .inf]}\n", "config.yaml:5: plot.ylim: found inf, allowed is two"),
    "plot_reversed": (BASE + "plot: {ylim: [2, 1]}\n", "config.yaml:5: plot.ylim: found [2, 1], allowed is two"),
    "plot_equal": (BASE + "plot: {ylim: [1, 1]}\n", "config.yaml:5: plot.ylim: found [1, 1], allowed is two"),
    "plot_title": (BASE + "plot: {title: [a]}\n", "config.yaml:5: plot.title: found ['a'], allowed is text"),
    "too_many_runs": (
        BASE.replace("0.1}", f"{list(range(1, 1001))}}}") + f"\nseed: {list(range(2000))}\n",
        "config.yaml:6: seed: found 2,000,000 combinations (here 1,000 regularizer x 2,000 seed), "
        "allowed are 100,000 in a file",
    ),
    "too_many_nested": (
        BASE + "reduction: " + "{name: smooth, mu: [1, 2, 3, 4, 5, 6, 7, 8], inside: " * 20 + "none" + "}" * 20 + "\n",
        "config.yaml:5: reduction: found more than 1e15 combinations (here 1,152,921,504,606,846,976 reduction)",
    ),
    "too_many_in_all": (
        BASE
        + f"seed: {list(range(300))}\ncases:\n"
        + f"  - {{regularizer: {{name: l2, strength: {list(range(1, 301))}}}}}\n" * 2,
        "config.yaml:8: cases[1].regularizer: found 180,000 combinations (here 300 regularizer x 300 seed)",
    ),
    "too_many_beside_none": (
        BASE.replace(
            "prox_sdca", f"{{name: svrg, step_scale: {list(range(1, 1001))}, snapshot: {list(range(1, 1001))}}}"
        )
        + "reduction: {name: smooth, mu: []}\n",
        "config.yaml:4: solver: found 1,000,000 combinations (here 1,000,000 solver)",
    ),
    "too_many_tuned": (
        BASE.replace("prox_sdca", "svrg").replace("squared", "huber")
        + "tune: {grid: {solver.step_scale: '{1,3}*2^[-200..200]', loss.mu: '{1,3}*2^[-200..200]'}}\n",
        "config.yaml:2: loss: found 643,204 combinations (here 802 loss x 802 solver)",
    ),
    "inside": (
        BASE + "reduction:\n  name: adapt_reg\n  inside:\n    name: smooth\n    mu: -1\n",
        "config.yaml:9: reduction.inside.mu: found -1, allowed is",
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_mistakes_say_file_line_key_and_what_is_allowed(message, mistake):
    text, expected = MISTAKES[mistake]
    found = message(text)
    assert found.startswith(expected)
    assert "pydantic" not in found
    assert "\n" not in found


def test_several_faults_of_one_part_are_all_told(message):
    assert message(BASE + "stop: {passes: -1, gap: x}\n").splitlines() == [
        "config.yaml:5: stop.passes: found -1, allowed is a finite number greater than 0",
        "config.yaml:5: stop.gap: found 'x', allowed is a finite number greater than 0",
    ]


def test_a_loss_that_cannot_be_built_is_told_at_its_line(message):
    text = "dataset: {path: tiny.txt}\nloss: {name: ordinal_hinge, theta_1: 5}\nregularizer: none\nsolver: agd\n"
    assert message(f"{text}stop: {{passes: 5}}\n").split(": ")[0].endswith(":2")
