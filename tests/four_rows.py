"""A data file of four rows, in a folder of its own."""

import numpy as np
import pytest

from rrmbench.data import prepare

FOUR = "1 1:3 2:4\n2 2:2\n1 1:1\n2 3:8\n"


@pytest.fixture(name="folder", autouse=True)
def make_folder(own_folder):
    (own_folder / "four.svm").write_text(FOUR)
    return own_folder


def load(labels="binary", path="four.svm", **keys):
    return prepare.load({"path": path, **keys}, labels)


def dense(parts, shape):
    data, indices, indptr = parts
    out = np.zeros(shape)
    for i in range(shape[0]):
        part = slice(indptr[i], indptr[i + 1])
        out[i, indices[part]] = data[part]
    return out


def X(prepared):
    return dense(prepared.X_parts, prepared.shape)


def X_test(prepared):
    return dense(prepared.test_X_parts, prepared.test_shape)
