"""Classes of one name in one process, which numba takes for one another where their fields are of the same types."""

import subprocess
import sys
import textwrap
from typing import NamedTuple

import numpy as np
import pytest

from rrmbench import Problem, registry, solve
from rrmbench.errors import RrmbenchError
from rrmbench.numerics.random import Rng

pytestmark = pytest.mark.usefixtures("own_bounds")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4))
Y = X[:, 0] + RNG.normal(size=30)
RIDGE = {"name": "l2", "strength": 0.1}
LOSS = """
    class NAME(NamedTuple):
        conjugate_convexity: float = 1.0 / FACTOR
        lipschitz: float = float("inf")

        def value(self, z, y):
            return 0.5 * FACTOR * (z - y) ** 2

        def conjugate(self, b, y):
            return y * b + 0.5 * b * b / FACTOR

        def dual_point(self, z, y, mu):
            return (z - y) / (1.0 / FACTOR + mu)
"""
NORM = """
    class NAME(NamedTuple):
        strength: float = FACTOR

        def value(self, w):
            return FACTOR * abs(w)

        def conjugate(self, v):
            return 0.0 if abs(v) <= FACTOR * (1.0 + 1e-12) else math.inf

        def prox(self, w, t):
            return math.copysign(max(abs(w) - t * FACTOR, 0.0), w)

        def dual_scaling(self, v):
            return min(1.0, FACTOR / max(np.abs(v).max(), 1e-300))

        def radius(self, value, shape):
            return value / FACTOR
"""


def source(text, factor, name="Mine"):
    """The text of a module that has such a class."""
    code = textwrap.dedent(text).replace("FACTOR", repr(factor)).replace("NAME", name)
    return "import math\nfrom typing import NamedTuple\nimport numpy as np\n" + code


def cell(text, factor, name="Mine"):
    """The class that a cell of a notebook makes, as often as it runs."""
    scope = {"C": 1.0}
    exec(source(text, factor, name), scope)
    return scope[name]


def ridge(factor):
    """min (factor/2n) ||X w - y||^2 + 0.05 ||w||^2, in closed form."""
    w = np.linalg.solve(factor * X.T @ X / 30 + 0.1 * np.eye(4), factor * X.T @ Y / 30)
    return factor * np.mean((X @ w - Y) ** 2) / 2 + 0.05 * w @ w


@pytest.mark.parametrize("factors", [(1.0, 4.0), (4.0, 1.0)])
def test_a_cell_that_runs_again_makes_another_loss(factors):
    for factor in factors:
        found = solve(Problem(X, Y, cell(LOSS, factor)(), RIDGE), "fista", passes=500, gap=1e-10)
        assert found.reason == "gap"
        assert found.trace["primal"].iloc[-1] == pytest.approx(ridge(factor), abs=1e-9)


def test_and_another_regularizer():
    for factor in 0.1, 0.4:
        p = Problem(X, Y, "squared", cell(NORM, factor)())
        shipped = Problem(X, Y, "squared", {"name": "l1", "strength": factor})
        # without the kernels of better bounds, which `solve` compiles
        its = (registry.build_solver("fista")(one, None, Rng(0)) for one in (p, shipped))
        found, known = (next(x for x in iterates if x.passes >= 200) for iterates in its)
        assert p.gap(found.w, found.b) <= 1e-10 and np.allclose(found.w, known.w, atol=1e-6)


@pytest.mark.parametrize(("text", "name", "kind"), [(LOSS, "Squared", "loss"), (NORM, "L1", "regularizer")])
def test_the_name_of_a_shipped_class_is_that_of_the_shipped_one(text, name, kind):
    own = cell(text, 3.0, name)
    given = {"loss": "squared", "regularizer": {"name": "l1", "strength": 1.0}}
    w = RNG.normal(size=4)
    P = [
        Problem(X, Y, **{**given, kind: own()}).primal(w) if other else Problem(X, Y, **given).primal(w)
        for other in (1, 0)
    ]
    fit, norm = np.mean((X @ w - Y) ** 2) / 2, np.abs(w).sum()
    assert pytest.approx(P) == [3.0 * fit + norm if kind == "loss" else fit + 3.0 * norm, fit + norm]
    assert own.__name__.startswith(f"{name}_")  # and a number, 2 where no other one was before


def test_classes_that_a_function_makes_keep_what_they_enclose():
    def made(c):
        class Scaled(NamedTuple):
            conjugate_convexity: float = 1.0
            lipschitz: float = float("inf")

            def value(self, z, y):
                return 0.5 * c * (z - y) ** 2

            def conjugate(self, b, y):
                return y * b + 0.5 * b * b / c

            def dual_point(self, z, y, mu):
                return (z - y) / (1.0 / c + mu)

        return Scaled(1.0 / c)

    for c in 1.0, 2.0, 5.0:
        assert Problem(X, Y, made(c), RIDGE).primal(np.zeros(4)) == pytest.approx(c * np.mean(Y**2) / 2)


def test_a_class_inside_another_one_has_a_name_of_its_own_too():
    outer = """
        class Outer(NamedTuple):
            inner: tuple
            conjugate_convexity: float = 1.0
            lipschitz: float = float("inf")

            def value(self, z, y):
                return self.inner.value(z, y)

            def conjugate(self, b, y):
                return self.inner.conjugate(b, y)

            def dual_point(self, z, y, mu):
                return self.inner.dual_point(z, y, mu)
    """
    made = cell(outer, 1.0, "Outer")
    for factor in 1.0, 4.0:
        p = Problem(X, Y, made(cell(LOSS, factor)(), 1.0 / factor), RIDGE)
        assert p.primal(np.zeros(4)) == pytest.approx(factor * np.mean(Y**2) / 2)


def test_globals_that_kernels_have_frozen_are_found(monkeypatch):
    own = cell(LOSS.replace("FACTOR", "C"), 1.0)
    for c in 1.0, 2.0:
        monkeypatch.setitem(own.value.__globals__, "C", c)
        p = Problem(X, Y, own(1.0 / c), RIDGE)
        if c == 1.0:
            assert solve(p, "fista", passes=5).reason == "passes"
        else:
            with pytest.raises(RrmbenchError, match="gives other numbers where it is compiled than in Python"):
                solve(p, "fista", passes=5)


CHILD = """
    import pickle, sys
    import numpy as np
    import rrmbench

    with open(sys.argv[1], "rb") as file:
        theirs = pickle.load(file)
    ours = rrmbench.Problem(theirs.X, theirs.y, "squared", {"name": "l1", "strength": 1.0})
    print(theirs.primal(np.ones(4)), ours.primal(np.ones(4)))
"""


def test_a_problem_of_another_process_has_classes_of_its_own(tmp_path):
    """A pickled problem with a class called L1 arrives where the shipped L1 is."""
    (tmp_path / "my_norms.py").write_text(source(NORM, 3.0, "L1"))
    (tmp_path / "child.py").write_text(textwrap.dedent(CHILD))
    (tmp_path / "made.py").write_text(
        "import pickle, sys\nimport numpy as np\nimport my_norms, rrmbench\n"
        "p = rrmbench.Problem(np.eye(4), np.arange(4.0), 'squared', my_norms.L1())\n"
        "pickle.dump(p, open(sys.argv[1], 'wb'))\n"
    )
    for script in "made.py", "child.py":
        command = [sys.executable, script, "p.pickle"]
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    fit = np.mean((1.0 - np.arange(4.0)) ** 2) / 2
    assert [float(number) for number in ran.stdout.split()] == pytest.approx([fit + 12.0, fit + 4.0])


PLUGIN = """
    import rrmbench
    @rrmbench.loss
    def edited():
        \"\"\"a loss\"\"\"
        return Mine()
"""


def written(path, factor, helper=""):
    path.write_text(f"{helper}\n{source(LOSS, factor)}{textwrap.dedent(PLUGIN)}")


def test_a_plug_in_that_is_edited_in_a_session_is_executed_anew(tmp_path):
    path = tmp_path / "my_edited_loss.py"
    given = {"loss": {"path": str(path), "name": "edited"}, "regularizer": RIDGE}
    for factor in 1.0, 4.0:
        written(path, factor)
        assert Problem(X, Y, **given).primal(np.zeros(4)) == pytest.approx(factor * np.mean(Y**2) / 2)
    (tmp_path / "my_helper_module.py").write_text("ONE = 1.0\n")
    written(path, 2.0, "import my_helper_module")
    Problem(X, Y, **given)
    (tmp_path / "my_helper_module.py").write_text("ONE = 2.0\n")
    with pytest.raises(RrmbenchError, match=r"my_helper_module\.py has changed since this process imported it"):
        Problem(X, Y, **given)


STEPS = """
    import rrmbench

    @rrmbench.loss
    def fit_FILE():
        return NAME()

    @rrmbench.solver(needs={"NAME", "smooth"})
    def steps_FILE(problem, start, rng):
        w, passes = problem.start(start), 0.0
        yield rrmbench.Iterate(w)
        while True:
            b = problem.loss_dual(problem.X.forward(w))
            w, passes = problem.prox(w - problem.X.adjoint(b) / problem.n / problem.L, 1.0 / problem.L), passes + 1.0
            yield rrmbench.Iterate(w, b, passes)
"""


def test_a_solver_needs_the_class_of_its_own_file_whatever_it_is_called_now(tmp_path):
    """Not another plug-in's class of this name, not a shipped one; also after the file was edited in a session."""

    def write(file, name, factor):
        steps = textwrap.dedent(STEPS).replace("FILE", file).replace("NAME", name)
        (tmp_path / f"{file}.py").write_text(source(LOSS, factor, name) + steps)

    def problem(file):
        return Problem(X, Y, {"path": str(tmp_path / f"{file}.py"), "name": f"fit_{file}"}, RIDGE)

    def steps(file):
        return {"path": str(tmp_path / f"{file}.py"), "name": f"steps_{file}"}

    write("first_file", "Mine", 1.0)
    write("second_file", "Mine", 2.0)
    write("third_file", "Squared", 3.0)
    for file in "first_file", "second_file", "third_file":
        for other in "first_file", "second_file", "third_file":
            if file == other:
                assert solve(problem(file), steps(other), passes=200, gap=1e-6).reason == "gap"
            else:
                with pytest.raises(RrmbenchError, match=f"needs the loss fit_{other}"):
                    solve(problem(file), steps(other), passes=3)
    write("first_file", "Mine", 4.0)
    assert solve(problem("first_file"), steps("first_file"), passes=200, gap=1e-6).reason == "gap"
    with pytest.raises(RrmbenchError, match="needs the loss fit_third_file"):
        solve(Problem(X, Y, "squared", RIDGE), steps("third_file"), passes=3)
