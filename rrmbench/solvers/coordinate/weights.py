"""The weights of the models of P that working sets minimize: slopes of phi' around the outputs of w."""

import numpy as np

SPREAD = 1e-4  # of the outputs around z between which the slope of phi' is taken, at most
BEND = 1e-3  # of the gamma of a 1/gamma-smooth loss, the length over which phi' may bend: the same, where this is less
ROUNDED = 1e-9  # of the sizes of outputs, and of phi' over its greatest slope: the least spread, which rounding allows
FLOOR = 1e-4  # of the weights of a model, over their bound; of a damping, the least, which does nothing
AGREES = 0.75  # of the fall of a model, by which P falls at least where the whole step is made, and damping may fall
RATIO = 4.0  # of the lengths over which greatest slopes are sought, and of a damping to a smaller one
BACK = 0.03  # of the last change of the outputs, back and ahead, that the weights of a model take into account
BEYOND = 1e4  # times the lengths over which phi' changes by as much as it is: a slope up to there holds everywhere
WHOLE = 1.0 - 1e-6  # of the smoothness, from which on a slope is the greatest there is


class Weights:
    """The h (n,) of the model g.(u - w) + (1/2n) sum_i h_i (x_i.(u - w))^2 + Psi(u) of P at w.

    In its functions z (n,) are the outputs X w, and b = phi'(z).

    is_quadratic : whether phi' has its greatest slope far beyond the lengths over which it changes by as much as it is
    change : the last change of the outputs, a part of it or what was cut off it
    damping, reach : the part c of greatest slopes that is in the weights, and the lengths over which these are sought
    """

    def __init__(self, problem, z, b):
        self.problem, self.change = problem, np.zeros(z.shape)
        self.damping, self.reach = FLOOR, 0.0
        self._spread = min(SPREAD, BEND / problem.smoothness)
        self.is_quadratic = z.ndim > 1 or self._is_quadratic(z, b)  # of several outputs the squared loss alone

    def _is_quadratic(self, z, b):
        smoothness = self.problem.smoothness
        o = BEYOND * np.abs(b).max() / smoothness
        slopes = [(self.problem.loss_dual(z + step) - b) / step for step in (o, -o) if o > 0.0]
        return bool(np.all(np.array(slopes) >= WHOLE * smoothness))

    def at(self, z, b, is_cautious):
        """(h, whether the model bounds P from above), which it has to if `is_cautious`."""
        n, bound = self.problem.n, self.problem.smoothness
        h = np.full(n, bound) if self.is_quadratic else self.slopes(z, b)
        is_bound = is_cautious or bool(np.all(h >= WHOLE * bound))
        if self.damping > FLOOR and not is_bound:
            np.maximum(h, self.damping * self.greatest_slopes(z, b), out=h)
        return (np.full(n, bound) if is_bound else np.clip(h, FLOOR * bound, bound)), is_bound

    def slopes(self, z, b):
        """Slopes of phi' (n,): the greatest of that at z_i and of those from z_i to z_i + o_i and z_i - o_i.

        o_i is that of `change`. With the slope at z_i alone, a long step may carry samples back from where phi' is flat
        to where it bends. Close to w* this is Newton's method.
        """
        dual = self.problem.loss_dual
        size = max(np.abs(z).max(), np.abs(b).max() / self.problem.smoothness)
        spread = max(self._spread, ROUNDED * size)
        far = np.abs(self.change) > spread
        h = dual(z + spread) - dual(z - spread)
        h /= 2.0 * spread
        for o in self.change, -self.change:
            slopes = (dual(z + o) - b)[far] / o[far]
            h[far] = np.maximum(h[far], slopes)
        return h

    def greatest_slopes(self, z, b):
        """Greatest slopes h (n,) of phi' between z_i and z_i + o or z_i - o, for o = r, 4 r, 16 r ... up to `reach`.

        Slopes over lengths between two of these are at most 4 h_i, since phi' is monotone. With the greatest of all
        slopes for weights, a model bounds P from above, and better than the smoothness does where phi' is flat at z_i
        [de Leeuw and Lange 2009]. r is the length over which phi' can change by as much as it is.
        """
        dual, h = self.problem.loss_dual, np.zeros(z.size)
        o = max(np.abs(b).max() / self.problem.smoothness, self._spread)
        while o <= RATIO * self.reach:
            for step in o, -o:
                np.maximum(h, (dual(z + step) - b) / step, out=h)
            o *= RATIO
        return h

    def moved(self, t, agreement, outputs):
        """Take a step into account of which a part t was made; outputs (n,) : X times the whole of it.

        More damping after a step cut to t, by 1/t: where damping decides, the step would have been as long as that.
        Less after a step along which P fell as the model did, an `agreement` of about 1.
        """
        if t < 1.0 and agreement < 1.0:
            self.damping, self.reach = min(self.damping / t, 1.0), np.abs(outputs).max()
        elif agreement >= AGREES:
            self.damping = max(self.damping / RATIO, FLOOR)
