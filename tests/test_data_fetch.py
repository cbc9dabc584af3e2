"""Where the file of a data set comes from: folders, the cache, a download from a (local) server."""

import bz2
import hashlib
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
import yaml

from rrmbench.data import catalogue, commands, fetch, places, prepare
from rrmbench.errors import RrmbenchError

N = 30_000  # with values that do not compress: the packed file is several chunks of a download
TEXT = b"".join(b"%d 1:%d 2:3\n" % (1 if i % 2 else -1, (i + 1) * 2654435761 % 2**32) for i in range(N))
PACKED = bz2.compress(TEXT)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("RRMBENCH_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("RRMBENCH_DATA", raising=False)
    return tmp_path


class Server:
    """Serves PACKED; remembers the Range headers asked for; can stop in the middle."""

    def __init__(self):
        self.asked, self.stop_after = [], None
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked = self.headers.get("Range")
                server.asked.append(asked)
                start = int(asked.removeprefix("bytes=").rstrip("-")) if asked else 0
                if self.path != "/tiny.bz2":
                    self.send_error(404)
                    return
                self.send_response(206 if asked else 200)
                self.send_header("Content-Length", str(len(PACKED) - start))
                self.end_headers()
                self.wfile.write(PACKED[start : server.stop_after])

            def log_message(self, *_):
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}/tiny.bz2"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()


@pytest.fixture
def server():
    running = Server()
    yield running
    running.http.shutdown()
    running.http.server_close()


def register(**file):
    entry = {"title": "tiny", "task": "binary", "n": N, "d": 2, "file": {"name": "tiny", **file}}
    own = places.own_registry()
    own.mkdir(parents=True, exist_ok=True)
    (own / "tiny.yaml").write_text(yaml.safe_dump(entry))


def test_a_first_download_records_its_checksum_and_says_so(server, caplog):
    register(url=server.url)
    with caplog.at_level(logging.WARNING, logger="rrmbench.data"):
        facts = commands.get("tiny")
    content = hashlib.sha256(TEXT).hexdigest()
    assert facts["sha256"] == content
    assert facts["checksum"] == "as the record of the first download says"
    assert f"recorded sha256 {content} of this first download" in caplog.text
    assert (fetch.downloads() / "tiny.bz2.sha256").read_text().strip() == content
    assert prepare.load({"name": "tiny"}).shape == (N, 2)
    assert len(server.asked) == 1


def test_a_download_that_changed_later_is_refused(server):
    register(url=server.url)
    commands.get("tiny")
    (fetch.downloads() / "tiny.bz2").write_bytes(bz2.compress(TEXT + b"1 1:1\n"))
    with pytest.raises(RrmbenchError, match=r"tiny\.bz2: the content has sha256 .* the record of the first"):
        prepare.load({"name": "tiny"})


def test_a_known_checksum_is_verified(server):
    register(url=server.url, sha256=hashlib.sha256(TEXT).hexdigest())
    assert commands.get("tiny")["checksum"] == "as the registry entry says"
    assert not (fetch.downloads() / "tiny.bz2.sha256").exists()
    register(url=server.url, sha256="0" * 64)
    with pytest.raises(RrmbenchError, match=f"but the registry entry of 'tiny' says {'0' * 64}"):
        commands.get("tiny")


def test_a_broken_download_goes_on_where_it_stopped(server):
    register(url=server.url)
    server.stop_after = 100_000
    with pytest.raises(RrmbenchError, match=r"downloading .*tiny\.bz2 failed"):
        commands.get("tiny")
    assert fetch.locate(catalogue.get("tiny")) is None
    server.stop_after = None
    assert commands.get("tiny")["sha256"] == hashlib.sha256(TEXT).hexdigest()
    first, second = server.asked
    assert first is None
    assert 50_000 < int(second.removeprefix("bytes=").rstrip("-")) <= 100_000
    assert sorted(f.name for f in fetch.downloads().iterdir()) == ["tiny.bz2", "tiny.bz2.sha256"]


def test_without_data_and_network_the_message_says_what_to_do(folder, monkeypatch):
    monkeypatch.setenv("RRMBENCH_DATA", str(folder / "mine"))
    register(url="http://127.0.0.1:9/tiny.bz2")
    with pytest.raises(RrmbenchError) as error:
        prepare.load({"name": "tiny"})
    for part in (
        "data set 'tiny'",
        "'tiny' (or .gz, .bz2, .xz)",
        str(folder / "mine"),
        "RRMBENCH_DATA",
        "http://127.0.0.1:9/tiny.bz2",
        "rrmbench data get tiny",
    ):
        assert part in str(error.value)


def test_a_url_that_is_gone_is_said_with_the_answer_of_the_server(server):
    register(url=server.url.replace("tiny", "gone"))
    with pytest.raises(RrmbenchError, match=r"gone\.bz2 failed \(HTTP 404\)"):
        commands.get("tiny")


def test_a_set_without_url_says_so():
    register()
    with pytest.raises(RrmbenchError, match=r"data set 'tiny': .*it has no public url"):
        commands.get("tiny")


def test_the_folders_are_searched_in_order(folder, monkeypatch):
    register()
    first, second = folder / "one", folder / "two"
    for place in (first, second, fetch.downloads()):
        place.mkdir(parents=True)
    monkeypatch.setenv("RRMBENCH_DATA", f"{first}:{second}")
    entry = catalogue.get("tiny")
    assert fetch.locate(entry) is None
    for path in (fetch.downloads() / "tiny.gz", second / "tiny.bz2", first / "tiny.xz", first / "tiny"):
        path.write_bytes(TEXT)
        assert fetch.locate(entry) == path
    register(path=str(second / "tiny.bz2"))
    assert fetch.locate(catalogue.get("tiny")) == second / "tiny.bz2"


def test_another_file_of_the_same_name_is_noticed(folder, monkeypatch):
    register()
    (folder / "tiny").write_bytes(TEXT[: TEXT.index(b"\n") + 1])
    monkeypatch.setenv("RRMBENCH_DATA", str(folder))
    with pytest.raises(RrmbenchError, match="found 1 rows and 2 columns, but the registry entry of 'tiny' says 30000"):
        prepare.load({"name": "tiny"})


def test_the_package_ships_every_folder_and_the_registry():
    import tomllib
    from pathlib import Path

    project = Path(__file__).parents[1]
    if not (project / "pyproject.toml").is_file():
        pytest.skip("not a source checkout")
    setup = tomllib.loads((project / "pyproject.toml").read_text())["tool"]["setuptools"]
    folders = {file.parent.relative_to(project) for file in (project / "rrmbench").rglob("*.py")}
    folders -= {Path("rrmbench/extending/templates")}  # data of its package
    assert set(setup["packages"]) == {".".join(folder.parts) for folder in folders} | {
        "rrmbench.configs",
        "rrmbench.datasets",
    }
    for folder in "configs", "datasets":
        assert setup["package-dir"][f"rrmbench.{folder}"] == folder
    assert catalogue.names()
