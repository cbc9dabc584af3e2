"""Downloads that go on where they stopped, with pieces of one version of a file, and are kept only if they are data.

What has arrived lies in a file beside the path, and beside that the validator of its version (RFC 9110, section 8.8).
"""

import fcntl
import logging
import os
import re
import sys

from rrmbench.data import checksums, lookalikes
from rrmbench.errors import RrmbenchError
from rrmbench.folders import write_text

GZIP = ("gzip", "x-gzip")  # how some servers mark files that are named .gz, and others encode what is not compressed


def download(url, path, sha256=None):
    """Download `url` to `path`; sha256 is that of the uncompressed content, if it is known.

    Raises requests.RequestException where the next attempt may go on, and RrmbenchError, which keeps nothing, for a
    content of another checksum and what is no data file.
    """
    import pooch

    pooch.get_logger().setLevel(logging.ERROR)

    def downloader(url, output, _):
        part = path.with_name(f"part-{path.name}")
        with part.open("ab") as out:
            try:
                fcntl.flock(out, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise RrmbenchError(f"{part}: another process is downloading this file") from None
            _go_on(url, out, part.with_name(part.name + ".validator"))
            _check(url, part, sha256)
            os.replace(part, output)

    # the hash that we know is not of the file as it arrives, but of the uncompressed content
    pooch.retrieve(url, known_hash=None, fname=path.name, path=path.parent, downloader=downloader)


def _go_on(url, out, mark):
    """Append to `out`, of the version whose validator is in the file `mark`, what is missing; or begin anew."""
    import requests

    validator = mark.read_text(encoding="utf-8", errors="replace") if mark.is_file() else ""
    if not validator:  # nobody can tell whether the rest is of the same version
        out.truncate(0)
    have = os.fstat(out.fileno()).st_size
    ask = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-", "If-Range": validator} if have else {})
    with requests.get(url, headers=ask, stream=True, timeout=(10, 60)) as response:
        if response.status_code == requests.codes.partial_content:
            whole = _is_rest(response, have, validator)
        else:
            whole = response.status_code != requests.codes.requested_range_not_satisfiable
            out.truncate(0)
            have = 0
        if not whole:
            out.truncate(0)
            raise requests.ConnectionError("the part that was kept does not fit; it is dropped, try again")
        response.raise_for_status()
        _check_encoding(response, url)
        if have == 0:
            write_text(mark, _validator(response))
        _copy(response, out, have, url)
    mark.unlink(missing_ok=True)


def _validator(response):
    """What tells this version of the file from others, or ""."""
    tag = response.headers.get("ETag", "")
    return response.headers.get("Last-Modified", "") if not tag or tag.startswith("W/") else tag


def _is_rest(response, have, validator):
    """Whether an answer is what follows the `have` bytes of the version of this validator."""
    start = re.match(r"bytes (\d+)-", response.headers.get("Content-Range", ""))
    return have > 0 and start is not None and int(start[1]) == have and _validator(response) in ("", validator)


def _check_encoding(response, url):
    """Raise ConnectionError unless what comes is the file, or gzip of it, which readers recognize."""
    import requests

    encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if encoding != "identity" and not (encoding in GZIP and not url.endswith((".bz2", ".xz"))):
        raise requests.ConnectionError(f"found the encoding {encoding}, which was not asked for")


def _copy(response, out, have, url):
    import requests
    import urllib3
    from rich.console import Console
    from rich.progress import DownloadColumn, Progress, TextColumn, TimeRemainingColumn

    size = response.headers.get("Content-Length", "")
    total = have + int(size) if size.isdecimal() else None
    columns = (TextColumn("{task.description}"), DownloadColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), disable=not sys.stderr.isatty()) as progress:
        task = progress.add_task(url.rsplit("/", 1)[1], total=total, completed=have)
        try:
            for chunk in response.raw.stream(1 << 16, decode_content=False):
                out.write(chunk)
                progress.advance(task, len(chunk))
        except urllib3.exceptions.HTTPError as error:
            raise requests.ConnectionError(str(error)) from error
        finally:
            out.flush()
    if total is not None and out.tell() != total:
        raise requests.ConnectionError(f"{out.tell()} of {total} bytes arrived")


def _check(url, part, sha256):
    """Raise RrmbenchError, and remove the file, if what arrived is no data file or has another checksum."""
    try:
        found = checksums.checksum_of(part, anew=True)
        if what := lookalikes.served_instead(part):
            raise RrmbenchError(what)
        if sha256 not in (None, found):
            raise RrmbenchError(f"the content has sha256 {found}, and {sha256} is expected: it is another version")
    except RrmbenchError as error:
        part.unlink()
        message = str(error).removeprefix(f"{part}: ")
        raise RrmbenchError(f"{url}: what was downloaded is not the data set: {message}; it is not kept") from error
