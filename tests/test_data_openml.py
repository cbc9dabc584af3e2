"""OpenML through scikit-learn's client, whose transport answers from here: there is no network in tests."""

import gzip
import hashlib
import io
import json
from urllib.error import HTTPError, URLError

import numpy as np
import pytest
from lab import make_lab  # noqa: F401, a fixture
from sklearn.datasets import _openml

from rrmbench.data import prepare
from rrmbench.errors import RrmbenchError

DENSE = """@relation toy
@attribute size numeric
@attribute colour {red,green,blue}
@attribute kind {no,yes}
@data
1.5,red,no
0,blue,yes
-2,red,yes
3,green,no
"""
COLUMNS = (("size", "numeric"), ("colour", "nominal"), ("kind", "nominal"))


class Reply(io.BytesIO):
    def info(self):
        return {"Content-Encoding": "gzip"}


def answers(arff):
    """What the server says to each path."""
    features = [
        {
            "index": str(i),
            "name": name,
            "data_type": kind,
            "is_target": "true" if name == "kind" else "false",
            "is_ignore": "false",
            "is_row_identifier": "false",
            "number_of_missing_values": "0",
        }
        for i, (name, kind) in enumerate(COLUMNS)
    ]
    description = {
        "id": "7",
        "name": "toy",
        "version": "1",
        "format": "ARFF",
        "status": "active",
        "url": "https://www.openml.org/data/v1/download/7/toy.arff",
        "md5_checksum": hashlib.md5(arff.encode()).hexdigest(),
        "description": "d",
    }
    known = {"data": {"dataset": [{"did": 7, "name": "toy", "version": 1, "status": "active"}]}}
    api = _openml._DATA_INFO.removesuffix("/{}")  # another host before scikit-learn 1.9
    return {
        f"{api}/list/data_name/toy/limit/2/status/active/": json.dumps(known),
        f"{api}/list/data_name/toy/limit/2/data_version/1": json.dumps(known),
        f"{api}/7": json.dumps({"data_set_description": description}),
        f"{api}/features/7": json.dumps({"data_features": {"feature": features}}),
        f"{api}/qualities/7": json.dumps(
            {"data_qualities": {"quality": [{"name": "NumberOfInstances", "value": "4"}]}}
        ),
        description["url"]: arff,
    }


@pytest.fixture(name="server")
def make_server(tmp_path, monkeypatch):
    """The answers by path, and the list of paths that were asked for."""
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    known, asked = answers(DENSE), []

    def urlopen(request, *args, **kwargs):
        asked.append(request.full_url)
        if known is None or "offline" in known:
            raise URLError("no route to host")
        if request.full_url not in known:
            raise HTTPError(request.full_url, 412, "none", {}, None)
        return Reply(gzip.compress(known[request.full_url].encode()))

    monkeypatch.setattr(_openml, "urlopen", urlopen)
    return known, asked


def test_a_set_is_downloaded_once_and_its_categories_are_columns(server):
    known, asked = server
    found = prepare.load({"openml": "toy"})
    X = np.zeros(found.shape)
    data, indices, indptr = found.X_parts
    for i in range(4):
        X[i, indices[indptr[i] : indptr[i + 1]]] = data[indptr[i] : indptr[i + 1]]
    # blue, green and red are columns in this order
    assert X.tolist() == [[1.5, 0, 0, 1], [0, 1, 0, 0], [-2, 0, 0, 1], [3, 0, 1, 0]]
    assert found.y.tolist() == [-1, 1, 1, -1]
    assert found.info["labels"] == "0 -> -1, 1 -> 1, of 0 = no, 1 = yes"
    assert asked
    known["offline"] = asked[:] = []
    again = prepare.load({"openml": "toy", "positive": "no"})
    assert again.checksum == found.checksum and again.y.tolist() == [1, -1, -1, 1]
    assert not asked
    assert prepare.from_source({"openml": "toy"}).checksum == found.checksum
    del known["offline"]
    assert prepare.load({"openml": 7}).checksum == prepare.load({"openml": "toy", "version": 1}).checksum


def test_without_a_network_the_message_says_so(server):
    server[0]["offline"] = []
    with pytest.raises(RrmbenchError, match=r"'toy' is not in the cache, and OpenML cannot be reached \(URLError\)"):
        prepare.load({"openml": "toy"})


def test_what_openml_does_not_have_or_cannot_be_used_is_refused(server):
    known, _ = server
    for keys, message in (
        ({"openml": "tox"}, "OpenML: No active dataset tox found"),
        ({"openml": "toy", "version": 9}, "OpenML: Dataset toy with version 9 not found"),
        ({"openml": 7, "version": 1}, "leave 'version' out"),
        ({"openml": 8}, "OpenML"),
    ):
        with pytest.raises(RrmbenchError, match=message):
            prepare.load(keys)
    known |= answers(DENSE.replace("1.5,red", "?,red"))
    with pytest.raises(RrmbenchError, match="values are missing in the columns size"):
        prepare.load({"openml": "toy"})


def test_a_download_that_is_not_what_was_described_is_refused(server):
    known, _ = server
    url = next(key for key in known if key.endswith("arff"))
    known[url] = DENSE.replace("1.5", "2.5")
    with pytest.raises(RrmbenchError, match="md5 checksum"):
        prepare.load({"openml": "toy"})


def test_a_configuration_names_sets_of_openml(server, lab):
    config = lab.config(dataset={"openml": ["toy", 7], "scale": "max_abs"}, loss="logistic")
    dry = lab.cli("run", config, "--dry-run")
    assert dry.code == 0 and "their cost is unknown" in dry.out and not server[1]
    ran = lab.cli("validate", config)
    assert (ran.code, ran.out) == (0, f"{config}: 2 runs, 0 skipped\n")
    ran = lab.cli("validate", lab.config(dataset={"openml": 2.5}))
    assert ran.code == 2 and "toy.yaml:2: dataset.openml: found 2.5" in ran.err
