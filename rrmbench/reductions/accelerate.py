"""Acceleration of any solver, see `rrmbench.stages.acceleration`."""

from rrmbench.parameters import Auto, Positive
from rrmbench.registry import reduction
from rrmbench.stages.acceleration import Inner, around
from rrmbench.stages.progress import needed_to_show


@reduction(needs={"warm_start"}, gives={"strongly_convex", "square"}, deterministic=True)
def accelerate(solve, *, kappa: Positive | Auto = "auto", inner: Inner = "theory"):
    """minimize P(w) + (kappa/2) ||w - y||^2 again and again, y by Nesterov's momentum [Acc-SDCA, Figure 2]

    kappa : "auto" is R^2/(gamma n) - s, made for solvers of n + R^2/(gamma s) steps on single samples (prox_sdca, svrg,
        saga); the solver then runs as it is if R^2/(gamma s) <= 10 n. Needs a smooth loss.
    inner : passes per outer iteration (5 in [Acc-SDCA, Remark 1]), or "theory": until the duality gap, else the bound
        by the gradient's norm, shows the accuracy that [Acc-SDCA, Theorem 3] wants. A test after each pass costs half a
        check or a full gradient.

    Figure 2 where P is strongly convex (`StronglyConvex`), else Catalyst's schedule (`Convex`). Like every solver this
    one goes on for ever: in place of the paper's stopping conditions, a run is stopped by the certificate on P itself.
    """
    more = needed_to_show(solve) if inner == "theory" else frozenset()
    if kappa == "auto":
        more |= {"smooth"}  # gamma
    return solve.inside("accelerate", around(solve, kappa, inner), more)
