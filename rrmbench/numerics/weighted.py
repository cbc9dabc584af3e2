"""Kernels for scalar losses that are smoothed by mu omega_i; omega (n,) is positive."""

from rrmbench.numerics.jit import kernel


@kernel
def weighted_mean_loss(loss, mu, omega, z, y):
    """(1/n) sum of max_b b z_i - phi*(b) - (mu omega_i/2) b^2, for mu > 0; z, y are (n,)."""
    total = 0.0
    for i in range(z.shape[0]):
        b = loss.dual_point(z[i], y[i], mu * omega[i])
        total += b * z[i] - loss.conjugate(b, y[i]) - 0.5 * mu * omega[i] * b * b
    return total / z.shape[0]


@kernel
def weighted_mean_conjugate(loss, mu, omega, b, y):
    """(1/n) sum of phi*(b_i) + (mu omega_i/2) b_i^2, +inf outside the domain; b, y are (n,)."""
    total = 0.0
    for i in range(b.shape[0]):
        total += loss.conjugate(b[i], y[i]) + 0.5 * mu * omega[i] * b[i] * b[i]
    return total / b.shape[0]


@kernel
def weighted_dual_points(loss, mu, omega, q, z, y, b):
    """Write b_i = argmax_b b z_i - phi*(b) - ((mu omega_i + q)/2) b^2; z, y, b are (n,)."""
    for i in range(z.shape[0]):
        b[i] = loss.dual_point(z[i], y[i], mu * omega[i] + q)
