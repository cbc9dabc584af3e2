"""Data sets that need no network: scikit-learn's bundled ones, and a generated sparse one.

Both are written once as LibSVM text, so that they pass through the same reader as every file.
"""

import numpy as np

from rrmbench.data import libsvm
from rrmbench.data.draws import ordering, uniforms


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


def _rounded(value):
    # the last bits of log and of scaled data differ between machines; the text, and so its checksum, must not
    return float(f"{value:.10g}")
