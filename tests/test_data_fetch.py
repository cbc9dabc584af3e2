"""Where the file of a data set comes from: folders, the cache, a download from a (local) server."""

import bz2
import gzip
import hashlib
import logging
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

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
    """Serves `content`, as `tag` and with `headers`; remembers the Range headers asked for; can stop in the middle."""

    def __init__(self):
        self.asked, self.stop_after, self.content, self.tag, self.headers = [], None, PACKED, '"1"', {}
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                asked = self.headers.get("Range")
                server.asked.append(asked)
                fits = asked and self.headers.get("If-Range") in (None, server.tag)
                start = int(asked.removeprefix("bytes=").rstrip("-")) if fits else 0
                if "tiny" not in self.path:
                    self.send_error(404)
                    return
                content = server.content(self.path) if callable(server.content) else server.content
                told = {"ETag": server.tag, "Content-Length": str(len(content) - start)}
                self.send_response(206 if fits else 200)
                if fits:
                    told["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
                for name, value in (told | server.headers).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content[start : server.stop_after])

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


def register(called="tiny", **file):
    entry = {"title": "tiny", "task": "binary", "n": N, "d": 2, "file": {"name": called, **file}}
    own = places.own_registry()
    own.mkdir(parents=True, exist_ok=True)
    (own / f"{called}.yaml").write_text(yaml.safe_dump(entry))


def test_a_first_download_records_its_checksum_and_says_so(server, caplog):
    register(url=server.url)
    with caplog.at_level(logging.WARNING, logger="rrmbench.data"):
        facts = commands.get("tiny")
    content = hashlib.sha256(TEXT).hexdigest()
    assert facts["sha256"] == content
    assert facts["checksum"] == "as the record of the first download says"
    assert f"recorded sha256 {content} of this first download" in caplog.text
    assert Path(facts["path"] + ".sha256").read_text().strip() == content
    assert prepare.load({"name": "tiny"}).shape == (N, 2)
    assert len(server.asked) == 1


def test_a_download_that_changed_later_is_refused(server):
    register(url=server.url)
    Path(commands.get("tiny")["path"]).write_bytes(bz2.compress(TEXT + b"1 1:1\n"))
    with pytest.raises(RrmbenchError, match=r"tiny\.bz2: the content has sha256 .* the record of the first"):
        prepare.load({"name": "tiny"})


def test_a_known_checksum_is_verified(server):
    register(url=server.url, sha256=hashlib.sha256(TEXT).hexdigest())
    facts = commands.get("tiny")
    assert facts["checksum"] == "as the registry entry says"
    assert not Path(facts["path"] + ".sha256").exists()
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
    assert sorted(f.name for f in fetch.downloads().glob("*/*")) == ["tiny.bz2", "tiny.bz2.sha256"]


@pytest.mark.parametrize("tag", ['"1"', ""])
def test_pieces_of_two_versions_are_never_one_file(server, tag):
    register(url=server.url)
    other = TEXT.replace(b" 2:3\n", b" 2:4\n")
    server.content, server.tag, server.stop_after = TEXT, tag, 100_000
    with pytest.raises(RrmbenchError, match=r"downloading .*tiny\.bz2 failed"):
        commands.get("tiny")
    server.content, server.tag, server.stop_after = bz2.compress(other), tag and '"2"', None
    assert commands.get("tiny")["sha256"] == hashlib.sha256(other).hexdigest()


def test_a_rest_that_begins_elsewhere_is_dropped(server):
    register(url=server.url)
    server.stop_after = 100_000
    with pytest.raises(RrmbenchError, match="failed"):
        commands.get("tiny")
    server.stop_after, server.headers = None, {"Content-Range": f"bytes 0-{len(PACKED) - 1}/{len(PACKED)}"}
    with pytest.raises(RrmbenchError, match="failed"):
        commands.get("tiny")
    server.headers = {}
    assert commands.get("tiny")["sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert server.asked[-1] is None


def test_files_of_one_name_from_two_urls_are_two_files(server):
    others = TEXT[::-1]
    server.content = lambda path: PACKED if path == "/tiny.bz2" else bz2.compress(others)
    register(url=server.url)
    register("other", url=server.url.replace("/tiny", "/folder/tiny"))
    assert commands.get("tiny")["sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert commands.get("other")["sha256"] == hashlib.sha256(others).hexdigest()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"<!DOCTYPE html><title>Not found</title>", "named .bz2 but the content is not"),
        (bz2.compress(b"<!DOCTYPE html><title>Not found</title>"), "it looks like a web page"),
        (bz2.compress(b""), "it is empty"),
        (PACKED[:-9], "truncated or corrupt"),
        (bz2.compress(b"1 1:1\n"), "another version"),
    ],
    ids=["page", "compressed page", "empty", "truncated", "other"],
)
def test_what_is_no_data_is_not_kept(server, content, said):
    sha256 = hashlib.sha256(TEXT).hexdigest()
    register(url=server.url, sha256=sha256)
    server.content = content
    with pytest.raises(RrmbenchError, match=f"{server.url}: what was downloaded is not the data set: .*{said}"):
        commands.get("tiny")
    server.content = PACKED
    assert commands.get("tiny")["sha256"] == sha256


@pytest.mark.parametrize("end", ["", ".gz"])
def test_a_file_that_a_server_calls_encoded_is_kept_as_it_comes(server, end):
    register(url=server.url.removesuffix(".bz2") + end)
    server.content, server.headers = gzip.compress(TEXT, 1), {"Content-Encoding": "gzip"}
    assert commands.get("tiny")["sha256"] == hashlib.sha256(TEXT).hexdigest()


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
