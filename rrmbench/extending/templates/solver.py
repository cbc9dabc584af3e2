"""NAME: say in one line what the method does."""

from rrmbench.toolbox import Iterate, Positive, solver


# what a problem must have: "smooth" losses here, since problem.L would be infinite; docs/notation.md lists the traits
@solver(needs={"smooth"})
def NAME(problem, start, rng, *, step_scale: Positive = 1.0):
    """w = prox_{eta Psi}(w - eta g), g the gradient of the mean loss at w, eta = step_scale / L"""
    w = problem.start(start)  # a new array, in the domain of Psi
    eta = step_scale / problem.L
    passes = 0.0
    yield Iterate(w)  # once before any work
    while True:  # a solver never stops, times, prints or evaluates the objective
        passes += 1.0 if w.any() else 0.5  # half a pass per product; X w costs nothing for w = 0
        b = problem.loss_dual(problem.X.forward(w))  # the derivatives phi'(x_i.w)
        g = problem.X.adjoint(b) / problem.n
        w = problem.prox(w - eta * g, eta)  # argmin_u eta Psi(u) + ||u - (w - eta g)||^2 / 2
        yield Iterate(w, b, passes)  # at least once per pass; b is free here, and makes the certificate cheap
