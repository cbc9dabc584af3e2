"""The singular values of a matrix above a threshold, and the sum and a bound of all, as the trace norm needs them.

Here a is (rows, columns) with rows <= columns. Times are of one core on 943 x 1682, 20 values above the threshold.
"""

from itertools import islice

import numpy as np

from rrmbench.numerics.bidiagonalization import AllVectors, bidiagonalization

EPS = np.finfo(float).eps
NARROW = 1e-4  # the least threshold, relative to the greatest singular value, at which the Gram matrix is trusted
LARGE = 256  # the least number of rows at which Lanczos is tried
STEPS = 128  # of Lanczos, at most


def leading(a, tau):
    """(U, s): the singular values s > tau of a and their left vectors, the fastest way that is accurate (40 ms).

    a is (rows, columns), U (rows, k) and s (k,) for the k values above tau.
    Lanczos, if few steps are enough and a second run, on what is left, finds none that were missed (as copies of a
    repeated one would be); else the Gram matrix; else LAPACK.
    """
    if a.shape[0] >= LARGE:
        steps = min(STEPS, a.shape[0] // 8)
        found = by_lanczos(a, tau, steps)
        if found is not None:
            U = found[0]
            missed = by_lanczos(a - U @ (U.T @ a), tau, steps, seed=1)
            if missed is not None and len(missed[1]) == 0:
                return found
    found = by_gram(a, tau)
    return by_svd(a, tau) if found is None else found


def by_svd(a, tau):
    """As `leading` by LAPACK's SVD, to rounding (830 ms)."""
    U, s, _ = np.linalg.svd(a, full_matrices=False)
    k = np.count_nonzero(s > tau)
    return U[:, :k], s[:k]


def by_gram(a, tau):
    """As `leading` from the eigenvalues of a a^T above tau^2 (130 ms); None where tau is too small for that.

    Its rounding moves the shrunk matrix by about eps s_1^2 / tau: measured 5e-13 s_1 at tau = 1e-4 s_1.
    """
    from scipy.linalg import eigh

    gram = a @ a.T
    least = tau * tau / (NARROW * NARROW)
    if least < np.max(np.diag(gram)):  # the greatest eigenvalue is no less
        return None
    squares, U = eigh(gram, subset_by_value=(tau * tau, np.inf), check_finite=False)
    if least < squares.max(initial=0.0):
        return None
    return U, np.sqrt(squares)


def by_lanczos(a, tau, steps, seed=0):
    """As `leading` by Golub's and Kahan's bidiagonalization (20 ms); None if it needs more than so many steps.

    It ends when every Ritz value that may lie above tau has converged to 1e-14 s_1, and one lies below tau by more
    than its residual. All vectors are kept orthogonal; the starting vector is random, the same for the same seed. Of a
    singular value that occurs twice to all digits it sees one copy, unless nothing else is left.
    """
    steps = min(steps, a.shape[0])
    random = np.random.default_rng(seed)
    tiny = EPS * np.linalg.norm(a)
    left, right = AllVectors(steps, a.shape[0], tiny, random), AllVectors(steps + 1, a.shape[1], tiny, random)
    right.extend(random.standard_normal(a.shape[1]))
    process = bidiagonalization(lambda v: a @ v, lambda u: u @ a, left, right)
    alpha, beta = np.zeros(steps), np.zeros(steps)
    check = 8
    for k, entries in enumerate(islice(process, steps)):
        alpha[k], beta[k] = entries
        exhausted = k + 1 == a.shape[0] or alpha[k] == beta[k] == 0.0
        if exhausted or (k >= check and beta[k] > 0.0):
            check = k + max(4, k // 8)
            between = np.diag(alpha[: k + 1]) + np.diag(beta[:k], 1)  # a^T U = V between^T + beta_k v_{k+1} e_k^T
            if exhausted:
                between = np.column_stack((between, beta[k] * np.eye(k + 1)[:, k]))  # a^T U = (V, v_{k+1}) between^T
            P, s, _ = np.linalg.svd(between, full_matrices=False)
            residuals = beta[k] * np.abs(P[-1])
            wanted = s + residuals > tau
            if exhausted or (not wanted.all() and np.all(residuals[wanted] <= 1e-14 * s[0])):
                above = s > tau
                return left.vectors.T @ P[:, above], s[above]
            if np.count_nonzero(s > tau) > steps // 2:  # and there are no less singular values there
                return None
    return None


def total(a):
    """The sum of all singular values of a (rows, columns).

    Where a is of low rank to rounding, they are those of its product with a basis of its range.
    """
    random, size = np.random.default_rng(0), np.linalg.norm(a)
    for rank in (32, 128):
        if 4 * rank < a.shape[0]:
            Q = np.linalg.qr(a @ random.standard_normal((a.shape[1], rank)))[0]
            inside = Q.T @ a
            outside = np.sqrt(a.shape[0]) * np.linalg.norm(a - Q @ inside)  # bounds the sum of its singular values
            if outside <= 1e-13 * size:
                return np.sum(np.linalg.svd(inside, compute_uv=False))
    return np.sum(np.linalg.svd(a, compute_uv=False))


def greatest(a):
    """The greatest singular value, from an exact eigenvalue of a a^T (100 ms) and rounded up: never less than it."""
    from scipy.linalg import eigh

    rows, columns = a.shape
    gram = a @ a.T
    try:
        square = eigh(gram, eigvals_only=True, subset_by_index=[rows - 1, rows - 1], check_finite=False)[0]
    except np.linalg.LinAlgError:  # LAPACK's dsyevr gives up on some matrices that are a multiple of I to rounding
        square = np.linalg.eigvalsh(gram)[-1]
    return np.sqrt(max(0.0, square)) * (1.0 + EPS * (rows + columns))
