"""One minus the F1 measure of n labels, as a loss that adds up over labellings: its maximum, and its soft maximum.

A labelling differs from the truth by flips. With b of the n+ positive labels and c of the n- negative ones flipped,

    Delta(b, c) = 1 - F1 = (b + c)/(2 n+ - b + c).

Every flip has a score u_i, so that all that matters of the flips but their score is how many there are of each kind.
Scores come sorted, the greatest first, one array per kind: the b greatest are the best b flips.

Over b, Delta increases and is convex; over c, it increases and is concave, the slower the greater b is.
"""

import math

import numpy as np

from rrmbench.numerics.jit import kernel

BLOCK = 64  # rows between checkpoints: the sums of a block grow by C(k + 64, 64) at most, so by 1e213 for k = 50,000
NEGLIGIBLE = 1e-40  # of a probability; as a logarithm, less than that of the rounding of all others
LOG_NEGLIGIBLE = math.log(NEGLIGIBLE)


def delta(b, c, positives):
    """Delta(b, c) for n+ = `positives` >= 1."""
    return (b + c) / (2.0 * positives - b + c)


def best_flips(u, v):
    """Return (b, c, max over b, c of Delta(b, c) + u_1 + ... + u_b + v_1 + ... + v_c), c the least that attains it.

    For every b, the best c is where v_c + Delta(b, c) - Delta(b, c - 1), which decreases in c, changes its sign; it is
    found by bisection. Time O(n+ log n- + n-) after the sort.

    Parameters
    ----------
    u : (n+,) the scores of the positive labels' flips, n+ >= 1, in decreasing order
    v : (n-,) those of the negative ones
    """
    positives = u.size
    b = np.arange(positives + 1.0)
    low, high = np.zeros(b.size, dtype=np.int64), np.full(b.size, v.size)
    for _ in range(v.size.bit_length()):  # the best c is in low .. high
        c = (low + high + 1) // 2
        base = 2.0 * positives - b + c
        step = (2.0 * positives - 2.0 * b) / (base * np.maximum(base - 1.0, 1.0))
        more = (low < high) & (v[np.maximum(c, 1) - 1] + step > 0.0)
        low, high = np.where(more, c, low), np.where(more, high, np.where(low < high, c - 1, high))
    sums = np.append(0.0, np.cumsum(u)) + np.append(0.0, np.cumsum(v))[low] + delta(b, low, positives)
    best = int(np.argmax(sums))
    return best, int(low[best]), float(sums[best])


def soft_sum(u, v, tau, b0, c0):
    """log of the sum over all 2^n labellings of exp((Delta + sum of the flips' scores)/tau).

    It is relative to the labelling of the b0, c0 best flips, so that it overflows for no tau whose quotients u/tau,
    v/tau do not. Memory as of `soft_flips`.
    """
    return _soft_counts(u, v, tau, b0, c0)[0]


def soft_flips(u, v, tau, b0, c0):
    """The distribution over labellings with the weights of `soft_sum`: return (s, p, q, gain).

    s     the logarithm of their sum, as of `soft_sum`
    p, q  (n+,), (n-,) the probability of each flip
    gain  E Delta - Delta(b0, c0)

    The sum over all labellings with b flips of one kind is the elementary symmetric polynomial e_b of the weights
    exp(u_i/tau), see `symmetric_polynomials`; its time and that of the probabilities are O(n+^2 + n-^2) [AGM, section
    5.4]. The memory is that of `checkpoint_bytes`.
    """
    s, gain, *kinds = _soft_counts(u, v, tau, b0, c0)
    probabilities = []
    for scaled, checkpoints, counts in kinds:
        probabilities.append(np.empty(scaled.size))
        _marginals(scaled, checkpoints, counts, probabilities[-1])
    return s, *probabilities, gain


def _soft_counts(u, v, tau, b0, c0):
    """(s, gain, (u/tau, its checkpoints, the probabilities of the numbers of flips), the same of v)."""
    plus, minus = u / tau, v / tau
    excess_plus, checkpoints_plus = symmetric_polynomials(plus)
    excess_minus, checkpoints_minus = symmetric_polynomials(minus)
    of_b, of_c = np.zeros(u.size + 1), np.zeros(v.size + 1)
    s, gain = _counts(plus, minus, excess_plus, excess_minus, tau, b0, c0, of_b, of_c)
    return s, gain, (plus, checkpoints_plus, of_b), (minus, checkpoints_minus, of_c)


def checkpoint_bytes(positives, negatives):
    """The memory of `soft_flips`: n^2/(2 BLOCK) numbers per kind, and a block of rows."""
    largest = max(positives, negatives)
    return 8.0 * ((positives**2 + negatives**2) / (2.0 * BLOCK) + (BLOCK + 1.0) * (largest + 1.0))


def symmetric_polynomials(r):
    """Return (excess, checkpoints): log e_v = r_1 + ... + r_v + excess_v for v = 0 .. n, e_v of the weights exp(r_i).

    With a_k(v) the polynomial e_v of the first k weights, a_k(v) = a_(k-1)(v) + exp(r_k) a_(k-1)(v - 1). The numbers
    are A_k(v) = a_k(v)/exp(s_v) with s_v = r_1 + ... + r_v + L_v; since r decreases,

        A_k(v) = A_(k-1)(v) + exp(r_k - g_v) A_(k-1)(v - 1),      g_v = s_v - s_(v-1) = r_v + L_v - L_(v-1),

    and nothing overflows: e_v exp(-r_1 - ... - r_v) is at least 1 and at most C(k, v), which the L, updated every BLOCK
    rows so that all A are 1 again, take up. Neither is there anything to cancel. Row k starts with L_k = 0.

    Parameters
    ----------
    r : (n,) in decreasing order

    Returns the (n + 1,) excess and the L of the starts of all blocks, L_0 .. L_k after k rows, one after the other.
    """
    excess = np.zeros(r.size + 1)
    blocks = -(-r.size // BLOCK)
    checkpoints = np.zeros(_start(blocks))
    _forward(r, excess, checkpoints)
    return excess, checkpoints


@kernel
def _start(block):
    """Where the checkpoint of a block begins: those before have 1, BLOCK + 1, 2 BLOCK + 1, ... numbers."""
    return BLOCK * (block * (block - 1) // 2) + block


@kernel
def _forward(r, excess, checkpoints):
    n = r.shape[0]
    rows, factors = np.empty((BLOCK + 1, n + 1)), np.empty(n + 1)
    for block in range((n + BLOCK - 1) // BLOCK):
        k, end = block * BLOCK, min((block + 1) * BLOCK, n)
        saved = checkpoints[_start(block) : _start(block) + k + 1]
        saved[:] = excess[: k + 1]
        _block(r, saved, end, 0, end, rows, factors)
        for v in range(end + 1):
            excess[v] += math.log(rows[end - k, v])


@kernel
def _block(r, L, end, low, high, rows, factors):
    """Write A_k(v) to rows[k - first, v] for first <= k <= end, low - (end - k) <= v <= high; `first` = len(L) - 1.

    exp(r_k - g_v) is the product of exp(r_k - r) and exp(r - g_v), r the greatest of the block's, of which neither
    overflows for v <= first: exp(r) a(v - 1) <= v/(first - v + 1) a(v). What underflows is e^-700 of its sum.
    """
    first = L.shape[0] - 1
    for v in range(max(low - (end - first), 0), min(high, first) + 1):
        rows[0, v] = 1.0
        factors[v] = math.exp(r[first] - r[v - 1] - L[v] + L[v - 1]) if v > 0 else 0.0
    for k in range(first + 1, end + 1):
        old, new = rows[k - first - 1], rows[k - first]
        begin, size = max(low - (end - k), 0), math.exp(r[k - 1] - r[first])
        if begin == 0:
            new[0] = 1.0
        for v in range(max(begin, 1), min(high, first) + 1):
            new[v] = old[v] + size * (factors[v] * old[v - 1])
        for v in range(max(begin, first + 1), min(high, k) + 1):
            new[v] = (old[v] if v < k else 0.0) + math.exp(r[k - 1] - r[v - 1]) * old[v - 1]


@kernel
def _counts(plus, minus, excess_plus, excess_minus, tau, b0, c0, of_b, of_c):
    """Add to of_b, of_c (zeros) the probabilities of the numbers of flips; return (s, gain) as `soft_flips` does.

    For every b, the logarithm of the weight of (b, c) is concave in c, so that the sum over c begins at its peak, which
    moves down as b grows, and ends on both sides where the weights are negligible.
    """
    positives, negatives = plus.shape[0], minus.shape[0]
    of_positives, of_negatives = _from(plus, excess_plus, b0), _from(minus, excess_minus, c0)
    peaks, heights, height = np.empty(positives + 1, dtype=np.int64), np.empty(positives + 1), -np.inf
    c = negatives
    for b in range(positives + 1):
        while c > 0 and _change(b, c, b, c - 1, positives) / tau + of_negatives[c] - of_negatives[c - 1] < 0.0:
            c -= 1
        peaks[b] = c
        heights[b] = of_positives[b] + of_negatives[c] + _change(b, c, b0, c0, positives) / tau
        height = max(height, heights[b])
    total, gain = 0.0, 0.0
    for b in range(positives + 1):
        if heights[b] < height + LOG_NEGLIGIBLE:
            continue
        for step in (-1, 1):
            c = peaks[b] - (step == -1)
            while 0 <= c <= negatives:
                change = _change(b, c, b0, c0, positives)
                log_weight = of_positives[b] + of_negatives[c] + change / tau - height
                if log_weight < LOG_NEGLIGIBLE:
                    break
                weight = math.exp(log_weight)
                of_b[b] += weight
                of_c[c] += weight
                gain += weight * change
                c += step
        total += of_b[b]
    for b in range(positives + 1):
        of_b[b] /= total
    for c in range(negatives + 1):
        of_c[c] /= total
    return math.log(total) + height + excess_plus[b0] + excess_minus[c0], gain / total


@kernel
def _from(r, excess, origin):
    """log e_v - log e_origin for v = 0 .. n, summed up from the origin, near which they are needed to all digits."""
    logs = np.zeros(r.shape[0] + 1)
    for v in range(origin + 1, r.shape[0] + 1):
        logs[v] = logs[v - 1] + (r[v - 1] + excess[v] - excess[v - 1])
    for v in range(origin - 1, -1, -1):
        logs[v] = logs[v + 1] - (r[v] + excess[v + 1] - excess[v])
    return logs


@kernel
def _change(b, c, b0, c0, positives):
    """Delta(b, c) - Delta(b0, c0) to all digits: the numerator is an integer."""
    base, base0 = 2.0 * positives - b + c, 2.0 * positives - b0 + c0
    return ((b + c) * base0 - (b0 + c0) * base) / (base * base0)


@kernel
def _marginals(r, checkpoints, of_v, p):
    """Write to p (n,) the probability of each flip, for of_v (n + 1,) that of v flips in all; of_v is overwritten.

    Backwards from k = n, P_k(v) the probability that v of the first k are flipped is A_k(v) Xi_k(v), with

        Xi_(k-1)(v) = Xi_k(v) + exp(r_k - g_(v+1)) Xi_k(v + 1),
        p_k = sum_v A_(k-1)(v) exp(r_k - g_(v+1)) Xi_k(v + 1).

    Where A is 1 again, Xi is P itself, of which only v between the first and the last that is not negligible count.
    """
    n = r.shape[0]
    rows, factors = np.empty((min(BLOCK, n) + 1, n + 1)), np.empty(n + 1)
    low, high = 0, n
    for block in range((n + BLOCK - 1) // BLOCK - 1, -1, -1):
        first, end = block * BLOCK, min((block + 1) * BLOCK, n)
        while of_v[low] < NEGLIGIBLE and low < high:
            low += 1
        while of_v[high] < NEGLIGIBLE and low < high:
            high -= 1
        L = checkpoints[_start(block) : _start(block) + first + 1]
        _block(r, L, end, low, high, rows, factors)
        for v in range(low, high + 1):
            of_v[v] /= rows[end - first, v]
        for k in range(end, first, -1):
            begin, last = max(low - 1, 0), min(high, k) - 1
            if begin < low:
                of_v[begin] = 0.0
            size, old, total = math.exp(r[k - 1] - r[first]), rows[k - 1 - first], 0.0
            for v in range(begin, last + 1):
                ratio = size * factors[v + 1] if v < first else math.exp(r[k - 1] - r[v])
                flow = ratio * of_v[v + 1]
                total += old[v] * flow
                of_v[v] += flow
            p[k - 1] = min(total, 1.0)
            low, high = begin, min(high, k - 1)
