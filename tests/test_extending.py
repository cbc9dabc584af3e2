"""The checks of components: the shipped ones keep their promises, plug-ins that do not are told where."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest

from rrmbench import registry
from rrmbench.extending.contract import checks_of
from rrmbench.losses.squared_multi import SquaredMulti
from rrmbench.problem.iterate import Iterate
from rrmbench.regularizers.norms import longest_within, scale_into

INF = float("inf")


def verdict(kind, name, check):
    """The Verdict of one check of a registered component, by the beginning of its name."""
    (found,) = [c for c in checks_of(registry.lookup(kind, name)) if c.name.startswith(check)]
    return found.verdict()


def broken(kind, name, check):
    """What is found WRONG by a check that fails; text and hint."""
    found = verdict(kind, name, check)
    assert found.state == "WRONG", (check, found)
    return f"{found.text}\n{found.hint}"


# losses


class Mine(NamedTuple):
    """phi(z) = (z - y)^2 / 2 where nothing is wrong."""

    conjugate_convexity: float = 1.0
    lipschitz: float = INF

    def value(self, z, y):
        return 0.5 * (z - y) ** 2

    def conjugate(self, b, y):
        return 0.5 * b * b + y * b

    def dual_point(self, z, y, mu):
        return (z - y) / (1.0 + mu)


def loss_with(constants=(), **methods):
    """Register the loss `mine` of a class like Mine with other methods."""
    cls = type("Mine", (Mine,), methods)

    @registry.loss
    def mine():
        return cls(*constants)


PAIR, SUPREMUM, ARGMAX = "value and conjugate", "conjugate is the supremum", "dual_point is the argmax"
SLOPE, CONSTANTS = "dual_point is the derivative", "declared constants hold"


def newton(self, z, y, mu):
    """Unguarded steps for the logistic loss: argmax_b b z - phi*(b) - (mu/2) b^2, s = -y b in (0, 1)."""
    s = 0.5
    for _ in range(20):
        s -= (np.log(s / (1.0 - s)) + mu * s + y * z) / (1.0 / (s * (1.0 - s)) + mu)
    return float(-y * s)


def entropy(self, b, y):
    s = -y * b
    if not 0.0 <= s <= 1.0:
        return INF
    return float(sum(x * np.log(x) for x in (s, 1.0 - s) if x > 0.0))


WRONG_LOSSES = {
    "a sign of the conjugate": ({"conjugate": lambda self, b, y: 0.5 * b * b - y * b}, PAIR),
    "a conjugate that is too small": ({"conjugate": lambda self, b, y: 0.4 * b * b + y * b}, PAIR),
    "a conjugate that is too great": ({"conjugate": lambda self, b, y: 0.5 * b * b + y * b + 0.01}, PAIR),
    "wrong beyond b = 2 alone": (
        {"conjugate": lambda self, b, y: 0.5 * b * b + y * b + max(0.0, abs(b) - 2.0)},
        SUPREMUM,
    ),
    "wrong for mu > 0 alone": ({"dual_point": lambda self, z, y, mu: (z - y) / (1.0 + 2.0 * mu)}, ARGMAX),
    "wrong for great mu alone": ({"dual_point": lambda self, z, y, mu: (z - y) / (1.0 + min(mu, 100.0))}, ARGMAX),
    "wrong for negative mu alone": ({"dual_point": lambda self, z, y, mu: (z - y) / (1.0 + max(mu, 0.0))}, ARGMAX),
    "a slope twice too great": ({"dual_point": lambda self, z, y, mu: 2.0 * (z - y) / (1.0 + mu)}, SLOPE),
    "wrong for y < 0 alone": ({"value": lambda self, z, y: 0.5 * (z - max(y, 0.0)) ** 2}, PAIR),
}


@pytest.mark.parametrize("name", WRONG_LOSSES)
def test_a_wrong_loss_is_told_where(name):
    methods, check = WRONG_LOSSES[name]
    loss_with(**methods)
    assert "y=" in broken("loss", "mine", check)


def test_the_right_loss_passes_the_same_checks():
    loss_with()
    assert {verdict("loss", "mine", c).state for c in (PAIR, SUPREMUM, ARGMAX, SLOPE, CONSTANTS)} == {"ok"}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_an_unguarded_newton_is_found():
    cls = type(
        "Mine",
        (Mine,),
        {
            "value": lambda self, z, y: float(np.logaddexp(0.0, -y * z)),
            "conjugate": entropy,
            "dual_point": newton,
        },
    )

    @registry.loss(needs={"binary"})
    def mine():
        return cls(4.0, 1.0)

    assert "nan" in broken("loss", "mine", ARGMAX)
    assert "bracket" in broken("loss", "mine", ARGMAX)


@pytest.mark.parametrize(("constants", "words"), [((2.0, INF), "conjugate_convexity"), ((1.0, 3.0), "lipschitz")])
def test_constants_that_do_not_hold_are_found(constants, words):
    loss_with(constants)
    assert words in broken("loss", "mine", CONSTANTS)


def test_constants_that_could_be_better_are_a_note():
    loss_with((0.1, INF))
    found = verdict("loss", "mine", "declared constants are reached")
    assert found.state == "note" and "longer steps" in found.text


def test_a_crash_is_told_with_its_line():
    def dual_point(self, z, y, mu):
        return (z - y) / mu

    loss_with(dual_point=dual_point)
    line = dual_point.__code__.co_firstlineno + 1
    assert f"test_extending.py:{line} in dual_point: ZeroDivisionError" in broken("loss", "mine", PAIR)


def test_what_overflows_in_python_is_what_kernels_compute():
    """math.exp raises where a kernel has inf: the loss exp(-z) is right, and far outputs are a note of few lines."""

    class Exponential(NamedTuple):
        conjugate_convexity: float = 0.0
        lipschitz: float = INF

        def value(self, z, y):
            return math.exp(-y * z)

        def conjugate(self, b, y):
            t = -y * b
            return INF if t < 0.0 else (t * math.log(t) - t if t > 0.0 else 0.0)

        def dual_point(self, z, y, mu):
            u = -y * z
            if mu == 0.0:
                return -y * math.exp(u)
            low, high = -700.0, max(u, -700.0)
            if u > 0.0:
                high = min(u, max(math.log(u / mu), 0.0) + 1.0)
            for _ in range(100):
                middle = 0.5 * (low + high)
                if u - middle - mu * math.exp(middle) > 0.0:
                    low = middle
                else:
                    high = middle
            return -y * math.exp(0.5 * (low + high))

    @registry.loss(needs={"binary"})
    def exponential():
        return Exponential()

    found = {check.name: check.verdict() for check in checks_of(registry.lookup("loss", "exponential"))}
    assert {verdict.state for verdict in found.values()} == {"ok", "note"}
    assert len(found["far outputs"].text.splitlines()) <= 8


def test_a_loss_of_another_form_is_told_what_is_missing():
    @registry.loss
    def mine():
        return object()

    assert "no method value, conjugate, dual_point" in broken("loss", "mine", "its form")


@pytest.mark.parametrize("raised", [SystemExit, BaseException])
def test_whatever_a_component_raises_is_a_verdict(raised):
    def crash(self, z, y):
        raise raised("no")

    loss_with(value=crash)
    assert f"{raised.__name__}: no" in broken("loss", "mine", PAIR)


# regularizers


@pytest.mark.parametrize(
    "wrong",
    [
        {"value": lambda self, z, y: (0.5 if abs(z - y) < 50.0 else 0.45) * (z - y) ** 2},
        {"conjugate": lambda self, b, y: (0.5 if abs(b) < 120.0 else 0.45) * b * b + y * b},
    ],
)
def test_what_is_wrong_at_the_scale_of_real_labels_alone_is_found(wrong):
    loss_with(**wrong)
    assert "value + conjugate" in broken("loss", "mine", "over samples: a conjugate pair")


class Psi(NamedTuple):
    """psi(w) = strength |w| where nothing is wrong."""

    strength: float
    homogeneous = True

    def value(self, w):
        return self.strength * abs(w)

    def conjugate(self, v):
        return 0.0 if abs(v) <= self.strength else INF

    def prox(self, w, t):
        return w - min(max(w, -self.strength * t), self.strength * t)

    def dual_scaling(self, v):
        return scale_into(np.max(np.abs(v), initial=0.0), self.strength)

    def radius(self, value, shape):
        return longest_within(value, self.strength, 1.0)


class Half(Psi):
    """A regularizer on arrays, psi(w) = strength ||w||_2 with half of its threshold in matrices."""

    coordinate_separable = False

    def value(self, w):
        return self.strength * float(np.linalg.norm(w))

    def conjugate(self, v):
        return 0.0 if np.linalg.norm(v) <= self.strength else INF

    def prox(self, w, t):
        shrink = self.strength * t * (0.5 if w.ndim == 2 else 1.0)
        return w * max(0.0, 1.0 - shrink / max(float(np.linalg.norm(w)), 1e-300))

    def dual_scaling(self, v):
        return scale_into(float(np.linalg.norm(v)), self.strength)


OF_ONE_PSI = "value, conjugate and prox"
WRONG_REGULARIZERS = {
    "a threshold without the step": (
        {"prox": lambda self, w, t: w - min(max(w, -self.strength), self.strength)},
        "prox is the",
    ),
    "a conjugate for another strength": (
        {"conjugate": lambda self, v: 0.0 if abs(v) <= 0.5 * self.strength else INF},
        OF_ONE_PSI,
    ),
    "a conjugate that is too small": (
        {"conjugate": lambda self, v: 0.0, "dual_scaling": lambda self, v: 1.0},
        OF_ONE_PSI,
    ),
    "a conjugate that is finite beyond its domain": (
        {"conjugate": lambda self, v: 0.0 if abs(v) <= 2.0 * self.strength else INF},
        OF_ONE_PSI,
    ),
    "a scaling for another norm": (
        {"dual_scaling": lambda self, v: scale_into(float(np.mean(np.abs(v))), self.strength)},
        OF_ONE_PSI,
    ),
    "a radius that is too small": ({"radius": lambda self, value, shape: 0.5 * value / self.strength}, "radius"),
    "a projection that moves": (
        {"prox": lambda self, w, t: Psi.prox(self, w, t) if t > 0.0 else 0.9 * w},
        "prox with step 0",
    ),
}


@pytest.mark.parametrize("name", WRONG_REGULARIZERS)
def test_a_wrong_regularizer_is_told_where(name, monkeypatch):
    methods, check = WRONG_REGULARIZERS[name]
    # on arrays, so that nothing is compiled: statements are on whole models
    cls = type("Whole", (Psi,), {"coordinate_separable": False})
    for method in ("value", "conjugate", "prox"):
        scalar = methods.get(method, getattr(Psi, method))
        setattr(cls, method, _over_entries(scalar, method))
    for method in ("dual_scaling", "radius"):
        if method in methods:
            setattr(cls, method, methods[method])

    @registry.regularizer
    def mine(strength: float = 0.2):
        return cls(strength)

    assert "the shape (7,)" in broken("regularizer", "mine", check)


def _over_entries(scalar, method):
    if method == "prox":
        return lambda self, w, t: np.array([scalar(self, x, t) for x in w.ravel()]).reshape(w.shape)
    return lambda self, w: float(sum(scalar(self, x) for x in w.ravel()))


def test_a_regularizer_that_is_wrong_for_matrices_alone_is_found():
    @registry.regularizer
    def mine(strength: float = 0.2):
        return Half(strength)

    assert "the shape (4, 3)" in broken("regularizer", "mine", "prox is the")


def test_a_regularizer_that_scales_its_argument_in_place_is_found():
    class InPlace(Half):
        def dual_scaling(self, v):
            v *= Half.dual_scaling(self, v)
            return 1.0

    @registry.regularizer
    def mine(strength: float = 0.2):
        return InPlace(strength)

    assert "dual_scaling changes an array that it is given" in broken("regularizer", "mine", "methods leave")


def targets_with(constants=(), **methods):
    """Register the loss `mine` on rows of targets, of a class like SquaredMulti with other methods."""
    cls = type("Mine", (SquaredMulti,), methods)

    @registry.loss(needs={"targets"})
    def mine():
        return cls(*constants)


@pytest.mark.parametrize(("constants", "words"), [((2.0, INF), "conjugate_convexity"), ((1.0, 3.0), "lipschitz")])
def test_constants_of_a_loss_on_rows_that_do_not_hold_are_found(constants, words):
    targets_with(constants)
    assert words in broken("loss", "mine", "over samples: declared constants")


def test_a_loss_on_rows_that_adds_to_what_it_is_to_write_is_found():
    def dual_point_row(self, z, y, mu, q, b):
        for c in range(z.shape[0]):
            b[c] += (z[c] - y[c]) / (1.0 + mu + q)

    targets_with(dual_point_row=dual_point_row)
    assert "dual_point_row gives other numbers when it is called again" in broken("loss", "mine", "methods leave")


def test_a_loss_on_rows_that_forgets_proximal_steps_is_found():
    def dual_point_row(self, z, y, mu, q, b):
        for c in range(z.shape[0]):
            b[c] = (z[c] - y[c]) / (1.0 + mu)

    targets_with(dual_point_row=dual_point_row)
    assert "u = z - q b" in broken("loss", "mine", "over samples: proximal steps")


def test_an_attribute_that_is_not_so_is_found():
    class Shifted(Half):
        def value(self, w):
            return self.strength * float(np.linalg.norm(w)) ** 2

    @registry.regularizer
    def mine(strength: float = 0.2):
        return Shifted(strength)

    assert "homogeneous = True" in broken("regularizer", "mine", "attributes")


def test_a_certificate_that_lies_names_loss_and_regularizer_as_they_are_called():
    class TooSmall(Half):
        def conjugate(self, v):
            return super().conjugate(v) - 0.1

    @registry.regularizer
    def mine(strength: float = 0.2):
        return TooSmall(strength)

    found = broken("regularizer", "mine", "solvers reach a certified gap")
    assert "the loss 'squared' or the regularizer 'mine' is not a conjugate pair" in found


# reductions and data sets


def test_a_reduction_that_does_not_give_what_it_says_is_found():
    @registry.reduction(gives={"smooth"})
    def mine(solve):
        return lambda problem, start, rng: solve(problem, start, rng)

    assert "" in broken("reduction", "mine", "every iterate")


def test_a_reduction_that_forgets_passes_is_found():
    @registry.reduction
    def mine(solve):
        def reduced(problem, start, rng):
            for x in solve(problem, start, rng):
                yield x._replace(passes=0.5 * x.passes)

        return reduced

    assert "has touched" in broken("reduction", "mine", "passes are")


@pytest.mark.parametrize("forgets", ["pair", "objectives", None])
def test_averages_that_are_said_to_be_pairs_or_to_have_objectives_are_found(forgets):
    @registry.reduction
    def mine(solve):
        def reduced(problem, start, rng):
            w, b = problem.start(start), None
            for k, x in enumerate(solve(problem, start, rng)):
                w = w + (x.w - w) / (k + 1)
                b = x.b if b is None or x.b is None else b + (x.b - b) / (k + 1)
                yield x._replace(w=w, b=b) if forgets else Iterate(w, b, x.passes, x.checks)

        gives = {"pair": solve.gives & {"dual"}, "objectives": solve.gives & {"gap"}, None: frozenset()}
        return replace(solve.inside("mine", reduced), gives=gives[forgets])

    name = "what the solver inside gives"
    if forgets is None:
        assert verdict("reduction", "mine", name).state == "ok"
    else:
        said = {"pair": 'around prox_sdca: gives={"dual"} promises', "objectives": "around agm_ef: objectives() ="}
        assert said[forgets] in broken("reduction", "mine", name)


def test_a_data_set_without_a_seed_is_found():
    rng = np.random.default_rng(0)

    @registry.dataset
    def mine(n: int = 20, seed: int = 0):
        return rng.standard_normal((n, 3)), np.arange(n) % 2.0

    assert "the second time" in broken("dataset", "mine", "the same parameters")
    assert verdict("dataset", "mine", "shapes").state == "ok"


def test_qids_without_a_seed_are_found():
    rng = np.random.default_rng(0)

    @registry.dataset
    def mine(n: int = 20):
        return {"X": np.ones((n, 3)), "y": np.arange(n) % 2.0, "qid": rng.integers(5, size=n)}

    assert "the second time" in broken("dataset", "mine", "the same parameters")


def test_a_data_set_that_seeds_the_numbers_that_all_code_shares_is_found():
    @registry.dataset
    def mine(n: int = 20):
        np.random.seed(0)  # noqa: NPY002, the mistake
        return np.random.normal(size=(n, 3)), np.arange(n) % 2.0  # noqa: NPY002

    for _ in range(2):  # also where the call before has left them as this one does
        assert "global random numbers" in broken("dataset", "mine", "the same parameters")


def test_a_data_set_of_one_label_and_one_that_ignores_its_seed_are_found():
    @registry.dataset
    def mine(n: int = 20, seed: int = 0):
        return np.random.default_rng(0).standard_normal((n, 3)), np.ones(n)

    assert "all labels are 1.0" in broken("dataset", "mine", "labels")
    assert "the seeds 1 and 2" in broken("dataset", "mine", "the seed")


# the checks of the shipped components: cheap ones here, all of them exhaustive

CHEAP = {
    "loss": ["hinge", "epsilon_insensitive"],
    "regularizer": ["l1", "group_lasso", "box"],
    "solver": ["gd"],
    "reduction": ["solve_dual"],
    "dataset": [],
}


# These count copies of columns, or products of pairs of entries, that this check does not see: see
# test_solvers_working_sets.py and add_gram.
UNSEEN = dict.fromkeys(("working_sets", "prox_newton", "newton_pcg", "ssnal_multiclass"), "passes are what was touched")


def shipped():
    for kind, cheap in CHEAP.items():
        for name in registry.names(kind):
            component = registry.lookup(kind, name)
            module = component.build.__module__
            if module.startswith("rrmbench.") and ".peers." not in module and kind != "dataset":
                marks = [] if name in cheap else pytest.mark.exhaustive
                yield pytest.param(kind, name, id=f"{kind} {name}", marks=marks)


@pytest.mark.parametrize(("kind", "name"), list(shipped()))
def test_shipped_components_keep_their_promises(kind, name):
    found = [(check.name, check.verdict()) for check in checks_of(registry.lookup(kind, name))]
    unseen = UNSEEN.get(name)
    assert not [(check, v.text) for check, v in found if v.state == "WRONG" and check != unseen]
    assert len(found) >= 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [n for n in registry.names("dataset") if not registry.lookup("dataset", n).network])
def test_shipped_data_sets_keep_their_promises(name):
    assert all(check.verdict().state != "WRONG" for check in checks_of(registry.lookup("dataset", name)))
