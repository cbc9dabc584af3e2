"""Distributions over the labellings of chains by their marginals, as linear programs take them.

The marginals of a distribution over the labellings of a chain are chances of its labels and of its neighbouring pairs
of labels that agree with each other, and any such chances are of a distribution, which a Markov chain has [Wainwright
and Jordan 2008, section 4]. What is 1 minus all others, the chance of the label or the pair that is given, is left out:
where there is nothing else, b = 0.
"""

import numpy as np

from rrmbench.numerics.pieces import Parts


def parts_of(sequences, k, cost):
    """The Parts of the b of `rrmbench.losses.chains`, for Sequences with k labels; without an entropy.

    u are the chances of the labels of each position, and of the pairs (i, j), i k + j, of each that has one before.
    Those of (i, j) over all i sum up to the chance of j, and over all j to that of i at the position before.
    """
    from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

    labels, later = sequences.labels, sequences.later
    N, pairs, square = labels.size, later.size, k * k
    own, own_pair = np.arange(N) * k + labels, labels[later - 1] * k + labels[later]
    at = np.delete(np.arange(N * k), own)
    at_pair = np.delete(np.arange(pairs * square), np.arange(pairs) * square + own_pair)
    u, of_labels = np.arange(at.size + at_pair.size), np.arange(at.size)

    given = np.concatenate([np.repeat(own, k - 1), N * k + np.repeat(own_pair, square - 1)])
    rows = np.concatenate([at, N * k + at_pair % square, given, np.full(at.size, (N + k) * k)])
    values = np.concatenate([np.ones(u.size), -np.ones(u.size), np.full(at.size, cost)])
    columns = coo_array((values, (rows, np.concatenate([u, u, of_labels]))), ((N + k + 2) * k, u.size))

    over_first, over_last = kron(np.ones((1, k)), eye_array(k)), kron(eye_array(k), np.ones((1, k)))
    sums = vstack([kron(eye_array(pairs), over) for over in (over_first, over_last)])
    ends = (np.concatenate([later, later - 1])[:, None] * k + np.arange(k)).reshape(-1)
    of_ends = coo_array((-np.ones(ends.size), (np.arange(ends.size), ends)), (ends.size, N * k))
    balance = hstack([of_ends, sums], format="csr")[~np.isin(ends, own)][:, np.concatenate([at, N * k + at_pair])]

    groups = np.concatenate([np.repeat(np.arange(N), k - 1), np.repeat(N + np.arange(pairs), square - 1)])

    def balanced(u):
        """The u of the Markov chains with the first chances and the transitions of u."""
        chances, joint = np.zeros((N, k)), np.zeros((pairs, k, k))
        chances.reshape(-1)[at], joint.reshape(-1)[at_pair] = u[: at.size], u[at.size :]
        chances.reshape(-1)[own] = np.maximum(1.0 - chances.sum(axis=1), 0.0)
        joint.reshape(pairs, square)[np.arange(pairs), own_pair] = np.maximum(1.0 - joint.sum(axis=(1, 2)), 0.0)
        total = joint.sum(axis=2, keepdims=True)
        joint = np.divide(joint, total, out=np.full(joint.shape, 1.0 / k), where=total > 0.0)
        starts, lengths = sequences.starts[:-1], np.diff(sequences.starts)
        for t in range(1, lengths.max()):
            here = starts[lengths > t] + t
            pair = np.searchsorted(later, here)
            joint[pair] *= chances[here - 1][:, :, None]
            chances[here] = joint[pair].sum(axis=1)
        return np.concatenate([chances.reshape(-1)[at], joint.reshape(-1)[at_pair]])

    return Parts(-cost * (u < at.size), columns, groups, 1.0, balance, balanced)
