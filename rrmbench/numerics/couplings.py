"""The greatest expectation of 1 - F1 over all distributions of labellings with given probabilities of the flips.

Delta(b, c) = (b + c)/(2 n+ - b + c), see `f_measure`, is convex in the number b of flips of positive labels, concave
in that of negative ones, and gains less by c where b is greater. So b is best as unequal as the probabilities p allow:
with u uniform on [0, 1], label i is flipped where u > 1 - p_i, and b increases in u by steps. What remains is c, as a
function of u that is best decreasing. A function c is the number of flips with probabilities q if

    integral of c from 0 to t <= F(t) = sum_j min(q_j, t),      with equality for t = 1

where c decreases, and to round c up first and down then on every step of b keeps this. The best c is therefore a
maximum of a sum of concave functions, one per step of b, Delta(b, .) between integers by lines, over a chain of bounds
of their partial sums: where the maximum with the total alone exceeds a bound, the best c meets the bound that is
exceeded most, and the steps before and after it are problems of their own.
"""

import numpy as np

from rrmbench.numerics.f_measure import delta

ROUNDING = 1e-13


def greatest_expectation(p, q):
    """max E Delta over the joint distributions of flips with the probabilities p (n+,), n+ >= 1, and q (n-,)."""
    positives, negatives = p.size, q.size
    ends = np.concatenate([[0.0], 1.0 - np.sort(p)[::-1], [1.0]])
    lengths = np.diff(ends)
    b = np.flatnonzero(lengths > 0.0)
    lengths, ends = lengths[b], ends[b + 1]
    b = b.astype(float)
    sums = np.append(0.0, np.cumsum(np.sort(q)))
    smaller = np.searchsorted(np.sort(q), ends)
    most = sums[smaller] + (negatives - smaller) * ends
    c = np.empty(b.size)
    parts = [(0, b.size, 0.0)]
    while parts:
        first, end, before = parts.pop()
        part = slice(first, end)
        c[part] = _with_total(b[part], lengths[part], most[end - 1] - before, positives, negatives)
        over = before + np.cumsum(lengths[part] * c[part])[:-1] - most[first : end - 1]
        if over.size > 0 and over.max() > ROUNDING * (1.0 + most[-1]):
            cut = first + int(np.argmax(over)) + 1
            parts += [(first, cut, before), (cut, end, most[cut - 1])]
    low = np.floor(c)
    of_low, of_next = (delta(b, at, positives) for at in (low, np.minimum(low + 1.0, negatives)))
    return float(lengths @ (of_low + (c - low) * (of_next - of_low)))


def _with_total(b, lengths, total, positives, negatives):
    """The c that maximizes the sum of lengths_i Delta(b_i, c_i), with the sum of lengths_i c_i given.

    All c_i are where Delta(b_i, c) - Delta(b_i, c - 1) falls below a common price, found by bisection. Those for which
    it equals the price share the rest, the last ones first.
    """
    low, high = 0.0, 2.0
    while low < (price := 0.5 * (low + high)) < high:
        if lengths @ _worth(b, price, positives, negatives) >= total:
            low = price
        else:
            high = price
    least = _worth(b, high, positives, negatives)
    room = (lengths * (_worth(b, low, positives, negatives) - least))[::-1]
    rest = max(total - float(lengths @ least), 0.0)
    return least + np.clip(rest - (np.cumsum(room) - room), 0.0, room)[::-1] / lengths


def _worth(b, price, positives, negatives):
    """For every b, the number of c in 1 .. n- with Delta(b, c) - Delta(b, c - 1) > price; all for the price 0.

    The difference is 2 (n+ - b)/(x (x - 1)), x = 2 n+ - b + c.
    """
    if price == 0.0:
        return np.full(b.size, float(negatives))
    with np.errstate(over="ignore"):
        x = 0.5 + np.sqrt(0.25 + 2.0 * (positives - b) / price)
    return np.clip(np.ceil(x - 2.0 * positives + b) - 1.0, 0.0, negatives)
