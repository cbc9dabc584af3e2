"""Data sets that need no network: scikit-learn's bundled ones, generated sparse ones, generated ratings and words.

All are written once as text, so that they pass through the same reader as every file.
"""

import numpy as np

from rrmbench.data import catalogue, libsvm, ratings
from rrmbench.data.draws import ordering, uniforms

# the shares of the levels 1 .. 5 among the ratings of MovieLens 100K
LEVELS = (0.06, 0.11, 0.27, 0.34, 0.22)


def write(settings, path):
    """Write the data set that an entry's `bundled` or `synthetic` describes."""
    writers = {
        catalogue.Bundled: write_bundled,
        catalogue.Synthetic: write_synthetic,
        catalogue.SyntheticRatings: write_synthetic_ratings,
        catalogue.SyntheticSequences: write_synthetic_sequences,
    }
    writers[type(settings)](settings, path)


def write_bundled(bundled, path):
    """Write a data set of scikit-learn as LibSVM text."""
    from sklearn import datasets

    X, y = getattr(datasets, bundled.loader)(return_X_y=True)
    rows = ([(j, _rounded(row[j])) for j in np.flatnonzero(row)] for row in X)
    libsvm.write(path, rows, y)


def write_synthetic(settings, path):
    """Write a generated text-like set: Zipf columns, tf-idf rows of norm 1, labels of a noisy sparse truth.

    Row i draws `words_per_row` words; word number r has probability proportional to 1 / (r + 3). The value of
    a word that came t times is (1 + log t) * log(1 / probability), and the row is divided by its norm. The
    truth has `relevant` non-zero weights among the more frequent words; the label is the sign of x.w minus
    its median over the rows, and is flipped with probability `noise`.
    """
    weight = 1.0 / (np.arange(settings.d) + 3.0)
    probability = weight / weight.sum()
    column = ordering(settings.seed, "columns", settings.d)
    drawn = uniforms(settings.seed, "words", settings.n * settings.words_per_row)
    words = np.searchsorted(np.cumsum(probability)[:-1], drawn, side="right").reshape(settings.n, -1)
    truth = _sparse_truth(settings)
    rows, margins = [], np.empty(settings.n)
    for i in range(settings.n):
        word, times = np.unique(words[i], return_counts=True)
        value = (1.0 + np.log(times)) * -np.log(probability[word])
        value /= np.sqrt(value @ value)
        margins[i] = value @ truth[word]
        place = np.argsort(column[word])
        rows.append([(column[w], _rounded(v)) for w, v in zip(word[place], value[place], strict=True)])
    labels = np.where(margins > np.median(margins), 1, -1)
    noisy = uniforms(settings.seed, "noise", settings.n) < settings.noise
    libsvm.write(path, rows, np.where(noisy, -labels, labels))


def _sparse_truth(settings):
    truth = np.zeros(settings.d)
    frequent = max(settings.relevant, settings.d // 10)
    chosen = ordering(settings.seed, "relevant", frequent)[: settings.relevant]
    truth[chosen] = 2.0 * uniforms(settings.seed, "truth", len(chosen)) - 1.0
    return truth


def write_synthetic_ratings(settings, path):
    """Write generated ratings 1 .. 5 of a low-rank truth with noise; rows and columns are numbered from 1.

    Entry (i, j) has the score sqrt(9/rank) sum_k U_ik V_jk + noise e_ij with U, V uniform in [-1, 1] and e of variance
    1, so that the truth has variance 1. Popularity is uneven as in real ratings: entry (i, j) is drawn with a
    probability about proportional to 1 / ((r_i + rows/15) (c_j + columns/60)), r_i and c_j random ranks; every row and
    every column has one rating at least. Scores become levels by thresholds that give the levels their shares.
    """
    n, d, seed = settings.rows, settings.columns, settings.seed
    popular = np.outer(1.0 / (ordering(seed, "rows", n) + n / 15), 1.0 / (ordering(seed, "columns", d) + d / 60))
    waiting = -np.log(1.0 - uniforms(seed, "entries", n * d)).reshape(n, d) / popular  # the rarer, the longer
    waiting[waiting.argmin(axis=0), np.arange(d)] = -1.0
    waiting[np.arange(n), waiting.argmin(axis=1)] = -1.0
    chosen = np.sort(np.argsort(waiting, axis=None, kind="stable")[: settings.observed])
    row, column = np.divmod(chosen[ordering(seed, "lines", settings.observed)], d)
    U = 2.0 * uniforms(seed, "row factors", n * settings.rank).reshape(n, -1) - 1.0
    V = 2.0 * uniforms(seed, "column factors", d * settings.rank).reshape(d, -1) - 1.0
    score = np.zeros(settings.observed)
    for k in range(settings.rank):  # one by one: the order in which a matrix product sums depends on the machine
        score += U[row, k] * V[column, k]
    error = np.sqrt(3.0) * (2.0 * uniforms(seed, "noise", settings.observed) - 1.0)
    score = np.sqrt(9.0 / settings.rank) * score + settings.noise * error
    ends = np.round(np.cumsum(LEVELS[:-1]) * settings.observed).astype(int)
    ordered = np.sort(score)
    thresholds = (ordered[ends - 1] + ordered[ends]) / 2.0  # no score is near one
    ratings.write(path, row + 1, column + 1, 1 + np.searchsorted(thresholds, score))


def write_synthetic_sequences(settings, path):
    """Write generated words: labels 1 .. letters of a Markov chain, features of noisy pictures, words as qid from 1.

    A word has a uniform length 1 .. longest. After letter i comes letter j with a probability proportional to U_ij^4,
    the first letter is uniform. Letter j has a picture of d pixels, each black with probability 0.3, of which every
    occurrence sees each pixel changed with probability `noise`; a row with no black pixel gets its first one.
    """
    n, k, d, seed = settings.sequences, settings.letters, settings.d, settings.seed
    lengths = 1 + (uniforms(seed, "lengths", n) * settings.longest).astype(int)
    N = lengths.sum()
    squares = uniforms(seed, "transitions", k * k).reshape(k, k) ** 2
    ends = np.cumsum(squares * squares, axis=1)
    is_first = np.zeros(N, dtype=bool)
    is_first[np.cumsum(lengths) - lengths] = True
    letters, drawn = np.empty(N, dtype=int), uniforms(seed, "letters", N)
    for t in range(N):
        if is_first[t]:
            letters[t] = int(drawn[t] * k)
        else:
            following = ends[letters[t - 1]]
            letters[t] = np.searchsorted(following[:-1], drawn[t] * following[-1], side="right")
    pictures = uniforms(seed, "pictures", k * d).reshape(k, d) < 0.3
    seen = pictures[letters] ^ (uniforms(seed, "noise", N * d).reshape(N, d) < settings.noise)
    seen[:, 0] |= ~seen.any(axis=1)
    rows = ([(j, 1.0) for j in np.flatnonzero(row)] for row in seen)
    libsvm.write(path, rows, letters + 1, np.repeat(np.arange(1, n + 1), lengths))


def _rounded(value):
    # the last bits of log and of scaled data differ between machines; the text, and so its checksum, must not
    return float(f"{value:.10g}")
