"""Pages of `rrmbench report` for the tests: the results behind them, and reading what is in the file."""

import base64
import hashlib
import json
from html.parser import HTMLParser

import numpy as np
import stored

from rrmbench.report.html import report

EVIL = "</script><script>window.hacked=1;alert(1)</script><img src=x onerror=alert(2)><b>bold</b>&amp;\u202e\"'"
SOLVERS = ("apcg", "prox_sdca", "svrg")


class Page(HTMLParser):
    """The elements of a page: `attributes` (tag, name, value), `data` by class of the script, `scripts` that run."""

    def __init__(self, path):
        super().__init__()
        self.text, self.words = path.read_text(encoding="utf-8"), ""
        self.attributes, self.scripts, self.data, self.policy, self.tags = [], [], {}, None, []
        self._script = None
        self.feed(self.text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        given = dict(attrs)
        self.attributes += [(tag, name, value) for name, value in attrs]
        if given.get("http-equiv") == "Content-Security-Policy":
            assert not self.scripts, "the policy must stand before the scripts"
            self.policy = given["content"]
        self._script = given if tag == "script" else None

    def handle_data(self, data):
        if self._script is None:
            self.words += data
        elif self._script.get("type") == "application/json":
            self.data.setdefault(self._script["class"], []).append(json.loads(data))
        else:
            self.scripts.append(data)

    def handle_endtag(self, tag):
        self._script = None

    @property
    def sums(self):
        """The checksums of the scripts as the policy writes them."""
        digests = (hashlib.sha256(script.encode()).digest() for script in self.scripts)
        return [f"'sha256-{base64.b64encode(digest).decode()}'" for digest in digests]


def array(charts, number):
    """The array of this number of a page's charts."""
    return np.frombuffer(base64.b64decode(charts["arrays"][number]), dtype="<f8")


def calm(folder):
    """Write an experiment of two problems, three methods and two seeds: one run failed, one to come, one skipped."""
    runs = [
        stored.result(stored.spec(dataset, solver=solver, seed=seed), stored.trace(0.1 + 0.2 * i + 0.05 * seed))
        for dataset in ("a", "b")
        for i, solver in enumerate(SOLVERS)
        for seed in (0, 1)
    ]
    failed = stored.spec("a", solver="sgd", seed=0)
    runs.append(stored.result(failed, stored.trace(passes=3), "failed", "ValueError: no", traceback="line 1\nline 2"))
    to_come = stored.spec("b", solver="sgd", seed=0)
    experiment = stored.experiment(folder, runs, {"columns": "dataset"}, pending=[to_come])
    described(experiment, "a reason", {"solver": ["apcg", "svrg"]}, {"processor": "a machine"})
    return experiment


def hostile(folder):
    """Write an experiment all of whose texts try to become part of the page."""
    specs = [stored.spec(EVIL, solver=name) for name in (EVIL, "apcg")]
    runs = [stored.result(specs[0], status="failed", reason=EVIL, traceback=EVIL), stored.result(specs[1])]
    experiment = stored.experiment(folder, runs, {"title": EVIL}, pending=[stored.spec(EVIL, solver="svrg")])
    described(experiment, EVIL, {EVIL: EVIL}, {EVIL: EVIL, "versions": {EVIL: EVIL}})
    return experiment


def reported(folder):
    """Results of a calm and a hostile experiment in a folder, with the page of both; return the folder."""
    calm(folder / "calm")
    hostile(folder / "evil")
    report(folder)
    return folder


def described(experiment, reason, config, facts):
    """Add what a manifest says beside its runs."""
    manifest = experiment.manifest()
    skipped = [{"spec": manifest["runs"][0]["spec"], "reason": reason}]
    experiment.write_manifest(manifest | {"skipped": skipped, "config": config, "environments": {"e": facts}})
