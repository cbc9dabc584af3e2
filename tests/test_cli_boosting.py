"""Entropy-regularized LPBoost from the command line: the model weighs samples, the certificate's b predicts labels."""

import numpy as np
import pytest
from lab import make_lab  # noqa: F401
from scipy.optimize import brentq
from sklearn.datasets import load_svmlight_file

from rrmbench import data
from rrmbench.bench.problems import problem_of
from rrmbench.report import recompute

SIMPLEX = {"name": "entropy_simplex", "strength": 0.05, "cap": 0.2}


def boosting(**keys):
    return {"loss": "max_row", "regularizer": SIMPLEX, "stop": {"passes": 40}} | keys


def test_runs_have_weights_of_samples_and_errors_of_the_boosted_classifier(lab):
    solvers = ["agm_ef", "fista", "pdprox_dual", "subgradient"]
    assert lab.cli("run", lab.config(**boosting(solver=solvers, reduction="auto")), "-o", lab.out).code == 0
    results = lab.results()
    assert len(results) == 4
    X, y = load_svmlight_file(str(lab.folder / "toy.txt"))
    for result in results:
        assert result.status == "done"
        assert result.w.shape == (30,)
        assert result.b.shape == (12,)
        assert result.w.sum() == pytest.approx(1.0, abs=1e-12)
        assert np.all(result.trace["gap"] >= -1e-12)
        up, down = np.split(1.0 + result.b, 2)
        error = np.mean(np.where(X @ (up - down) >= 0.0, 1.0, -1.0) != y)
        assert result.trace["train_error"][-1] == error
    assert min(result.trace["train_error"][-1] for result in results) < 0.5


def test_a_cap_below_one_over_n_fails_in_words(lab):
    config = lab.config(**boosting(solver="subgradient", regularizer=SIMPLEX | {"cap": 0.01}))
    ran = lab.cli("run", config, "-o", lab.out)
    assert "found cap = 0.01 for 30 weights" in " ".join((ran.out + ran.err).split())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (
            {"dataset": {"path": "toy.txt", "bias": "free"}},
            "a free bias (dataset.bias) has no place in the model of max_row",
        ),
        (
            {"reduction": "solve_dual", "solver": "fista"},
            "fista in solve_dual needs a loss that is smoothed by a square; max_row is not",
        ),
        ({"solver": "prox_sdca", "reduction": "auto"}, "prox_sdca needs"),
        ({"regularizer": SIMPLEX | {"domain": {"ball": 1.0}}}, "domain.ball: found a regularizer of the kind"),
    ],
)
def test_what_is_not_possible_is_said(lab, keys, message):
    ran = lab.cli("run", lab.config(**boosting(**({"solver": "subgradient"} | keys))), "--dry-run")
    assert message in " ".join((ran.out + ran.err).split())


def test_results_are_verified(lab):
    config = lab.config(**boosting(solver=["agm_ef", "pdprox_dual", "subgradient"], reduction="auto"))
    assert lab.cli("run", config, "-o", lab.out).code == 0
    ran = lab.cli("verify", lab.out / "toy")
    assert ran.code == 0, ran.out + ran.err
    assert ran.out.count("ok") >= 3


def test_verify_is_exact_where_the_conjugate_of_the_regularizer_cancels():
    spec = {
        "dataset": {"name": "breast_cancer_sklearn", "scale": "max_abs"},
        "loss": {"name": "max_row"},
        "regularizer": {"name": "entropy_simplex", "strength": 1e-3, "cap": 0.02},
    }
    prepared = data.load(spec["dataset"])
    p = problem_of(spec, prepared)
    b = p.n * np.eye(p.n)[0] - 1.0
    if np.mean(p.v(b)) > 0.0:  # of the hypothesis or of its negative
        b = np.roll(b, p.n // 2)

    def conjugate_of(t):
        return p.conjugate_of_Psi(p.v(t * b))

    t = brentq(conjugate_of, 1e-6, 1.0, xtol=1e-15)
    value, size = recompute.dual(prepared, spec, t * b)
    assert size > 1e-6
    assert abs(value + conjugate_of(t)) <= 1e-13 * size
    assert abs(value) <= 1e-12
