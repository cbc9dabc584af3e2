"""A fixed piece of work that is measured next to each run: CPU seconds in units of it compare machines and days.

One unit is a product of a fixed sparse matrix (100,000 stored entries) and one of its transpose, by scipy. It is
measured in the process of the run, just before the clock starts and just after it stops: it feels the same load.
"""

from functools import cache
from statistics import median
from time import thread_time  # a plug-in that changes the module changes no clock

import numpy as np

ROWS, COLUMNS, PER_ROW = 2000, 5000, 50
PRODUCTS = 4  # units of a round
ROUNDS = 3


def measure():
    """The median CPU seconds of one unit."""
    X, w = matrix()
    b = X @ w
    rounds = []
    for _ in range(ROUNDS):
        began = thread_time()
        for _ in range(PRODUCTS):
            X @ w
            X.T @ b
        rounds.append((thread_time() - began) / PRODUCTS)
    return median(rounds)


@cache
def matrix():
    """(X, w): the same numbers everywhere and always."""
    from scipy.sparse import csr_array

    entry = np.arange(ROWS * PER_ROW)
    columns = (entry * 7919 + entry // PER_ROW * 104729) % COLUMNS
    X = csr_array((np.cos(entry), (entry // PER_ROW, columns)), shape=(ROWS, COLUMNS))
    return X, np.sin(np.arange(COLUMNS))
