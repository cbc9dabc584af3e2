"""Data like those of text classification: long rare-word tails, short rows, topics."""

from typing import Annotated

import numpy as np
from annotated_types import Ge, Gt, Lt
from scipy.sparse import csr_array

from rrmbench import registry
from rrmbench.data.draws import normals, uniforms
from rrmbench.parameters import NonNegative, PositiveInt

EXACT = 2.0**20  # weights are multiples of 1/EXACT: the last bits of logarithms differ between machines


@registry.dataset(entries=lambda n, d, length: 0.6 * n * min(length, d))  # words stand in a document again
def documents(
    n: PositiveInt = 2000,
    d: PositiveInt = 10_000,
    length: PositiveInt = 120,
    topics: Annotated[int, Ge(2)] = 20,
    tilt: NonNegative = 2.0,
    flipped: Annotated[float, Ge(0), Lt(0.5)] = 0.02,
    exponent: Annotated[float, Gt(0)] = 1.0,
    seed: Annotated[int, Ge(0), Lt(2**63)] = 0,
):
    """Documents of Zipf-distributed words in tf-idf weights; a document has one topic, and a topic one of two classes.

    Document i has a topic k, uniform, and about `length` words, exponential lengths, one at least. Each word is drawn
    by itself, word j of d with a probability proportional to j^-exponent exp(tilt g_kj), g standard normal. An entry is
    (1 + log count) log(n / documents with the word) > 0; words of all documents have none. The class is -1 or 1 as k
    is even or odd, the other one with probability `flipped`.
    """
    topic = (uniforms(seed, "topics", n) * topics).astype(np.int64)
    lengths = np.maximum(1, np.rint(-length * np.log1p(-uniforms(seed, "lengths", n)))).astype(np.int64)
    document = np.repeat(np.arange(n), lengths)
    draws, word = uniforms(seed, "words", len(document)), np.empty(len(document), dtype=np.int64)
    frequency = np.arange(1.0, d + 1.0) ** -exponent
    for k in range(topics):
        ends = np.cumsum(frequency * np.exp(tilt * normals(seed, f"topic {k}", d)))
        mine = topic[document] == k
        word[mine] = np.searchsorted(ends[:-1], draws[mine] * ends[-1], side="right")
    y = np.where((topic % 2 == 1) == (uniforms(seed, "flipped", n) >= flipped), 1, -1)
    return {"X": _tf_idf(document, word, n, d), "y": y, "task": "binary"}


def _tf_idf(document, word, n, d):
    cells, counts = np.unique(document * d + word, return_counts=True)
    rows, columns = np.divmod(cells, d)
    rarity = np.log(n / np.maximum(1, np.bincount(columns, minlength=d)))
    X = csr_array((np.rint((1.0 + np.log(counts)) * rarity[columns] * EXACT) / EXACT, (rows, columns)), shape=(n, d))
    X.eliminate_zeros()
    return X
