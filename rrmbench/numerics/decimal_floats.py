"""Decimal numbers as the nearest floats, ties to even, as Python's `float` reads them.

The float nearest to m 10^q is found from the upper bits of the product of m with 5^q, of which 128 bits are tabulated
[Lemire 2021]. The few cases that these bits leave open, and results that are no normal floats, are said to be unknown.
"""

import math

import numpy as np

from rrmbench.numerics.jit import kernel

LEAST, GREATEST = -342, 308  # the powers of ten beyond which every result is 0 or infinite
ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
HALF = np.uint64(0xFFFFFFFF)
ZERO, ONE, THREE, NINE, FIRST_32 = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(9), np.uint64(32)
LAST_BIT = np.uint64(63)
OPEN = np.uint64(0x1FF)  # the 9 bits below the 55 that a rounded mantissa needs
EXACT = np.uint64(1 << 53)  # whole numbers up to this one are floats
TENS = np.array([float(10**k) for k in range(23)])  # those powers of ten that are floats


def _power_of_five(q):
    """5^q scaled by a power of two to 128 bits: cut off, but for -27 <= q < 0, where 5^-q < 2^64, rounded up."""
    power = 5 ** abs(q)
    bits = power.bit_length()
    if q >= 0:
        return power << (128 - bits) if bits <= 128 else power >> (bits - 128)
    return (1 << (bits + 127)) // power + (1 if q >= -27 else 0)


_POWERS = [_power_of_five(q) for q in range(LEAST, GREATEST + 1)]
UPPER = np.array([power >> 64 for power in _POWERS], dtype=np.uint64)
LOWER = np.array([power & 0xFFFFFFFFFFFFFFFF for power in _POWERS], dtype=np.uint64)


@kernel
def _product(a, b):
    """(the upper, the lower 64 bits) of the product of two uint64."""
    a1, a0, b1, b0 = a >> FIRST_32, a & HALF, b >> FIRST_32, b & HALF
    low = a0 * b0
    middle = a1 * b0 + (low >> FIRST_32)
    other = a0 * b1 + (middle & HALF)
    return a1 * b1 + (middle >> FIRST_32) + (other >> FIRST_32), (other << FIRST_32) | (low & HALF)


@kernel
def nearest_float(m, q):
    """(the float nearest to m 10^q, True) for a uint64 m and an int q; (0.0, False) where it is left open."""
    if m == ZERO:
        return 0.0, True
    if m <= EXACT and -22 <= q <= 22:  # both are floats, and one operation rounds once
        return (float(m) / TENS[-q] if q < 0 else float(m) * TENS[q]), True
    if q < LEAST or q > GREATEST:
        return 0.0, False
    w, zeros = m, 0
    while w >> LAST_BIT == ZERO:
        w, zeros = w << ONE, zeros + 1
    high, low = _product(w, UPPER[q - LEAST])
    if high & OPEN == OPEN:  # a carry from below could change the mantissa
        more, _ = _product(w, LOWER[q - LEAST])
        low += more
        if low < more:
            high += ONE
    if low == ALL and not -27 <= q <= 55:
        return 0.0, False
    top = high >> LAST_BIT
    shift = top + NINE
    mantissa = high >> shift
    exponent = ((217706 * q) >> 16) + 63 + int(top) - zeros  # of the first bit; 217706 / 2^16 is about log2(10)
    if exponent < -1021 or exponent > 1022:
        return 0.0, False
    if low <= ONE and -4 <= q <= 23 and mantissa & THREE == ONE and mantissa << shift == high:
        mantissa &= ~ONE  # exactly between two floats: to the even one
    mantissa = (mantissa + (mantissa & ONE)) >> ONE
    return math.ldexp(float(mantissa), exponent - 52), True
