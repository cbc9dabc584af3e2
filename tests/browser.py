"""A headless Chromium for the tests, driven by its DevTools protocol over a pipe: needs no package and no port."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

# The protocol's pipe is made of the descriptors 3 and 4. A browser of the super-user has no sandbox.
_START = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.dup2(int(sys.argv[2]), 4)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One tab of a browser without a network. `problems`: errors of its console; `requests`: what it asked for."""

    def __init__(self, width=1400, height=900):
        self.profile = tempfile.TemporaryDirectory(prefix="rrmbench_browser_")
        self.problems, self.requests, self._number, self._buffer, self._replies = [], [], 0, b"", {}
        to_browser, from_browser = os.pipe(), os.pipe()
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (to_browser[0], from_browser[1])]
        options = [
            "--headless=new",
            "--remote-debugging-pipe",
            "--disable-gpu",
            "--no-first-run",
            "--disable-extensions",
        ]
        options += ["--disable-background-networking", "--host-resolver-rules=MAP * ~NOTFOUND"]
        options += [f"--window-size={width},{height}", f"--user-data-dir={self.profile.name}"]
        options += ["--no-sandbox"] if os.geteuid() == 0 else []
        self.process = subprocess.Popen(
            [sys.executable, "-c", _START, *map(str, ends), CHROMIUM, *options, "about:blank"],
            pass_fds=ends,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in (*ends, to_browser[0], from_browser[1]):
            os.close(end)
        self._write, self._read = to_browser[1], from_browser[0]
        self.session = None
        target = self._tab()
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in "Page", "Runtime", "Log", "Network":
            self.call(f"{domain}.enable")
        self.resize(width, height)

    def _tab(self):
        end = time.monotonic() + 30
        while time.monotonic() < end:
            for target in self.call("Target.getTargets")["targetInfos"]:
                if target["type"] == "page":
                    return target["targetId"]
            time.sleep(0.02)
        raise TimeoutError("the browser opened no tab")

    def call(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        message |= {"sessionId": self.session} if self.session else {}
        os.write(self._write, json.dumps(message).encode() + b"\0")
        number = self._number
        self._listen(lambda: number in self._replies)
        reply = self._replies.pop(number)
        if "error" in reply:
            raise RuntimeError(f"{method}: {reply['error']['message']}")
        return reply["result"]

    def _listen(self, ready, seconds=60):
        end = time.monotonic() + seconds
        while not ready():
            if not select.select([self._read], [], [], max(end - time.monotonic(), 0.0))[0]:
                raise TimeoutError("the browser does not answer")
            read = os.read(self._read, 2**20)
            if not read:
                raise ConnectionError(f"the browser ended with code {self.process.wait()}")
            *messages, self._buffer = (self._buffer + read).split(b"\0")
            for message in map(json.loads, messages):
                self._note(message)

    def _note(self, message):
        given = message.get("params", {})
        match message.get("method"):
            case None:
                self._replies[message["id"]] = message
            case "Runtime.exceptionThrown":
                self.problems.append(json.dumps(given["exceptionDetails"])[:500])
            case "Runtime.consoleAPICalled" if given["type"] in ("error", "warning", "assert"):
                self.problems.append(json.dumps(given["args"])[:500])
            case "Log.entryAdded" if given["entry"]["level"] in ("error", "warning"):
                self.problems.append(given["entry"]["text"])
            case "Network.requestWillBeSent":
                self.requests.append(given["request"]["url"])
            case "Page.javascriptDialogOpening":
                self.problems.append(f"a dialog: {given['message']}")
                message = {"id": 0, "method": "Page.handleJavaScriptDialog", "params": {"accept": True}}
                os.write(self._write, json.dumps(message | {"sessionId": self.session}).encode() + b"\0")

    def open(self, path):
        """Open a file and wait until it is loaded."""
        self.problems.clear()
        self.requests.clear()
        self.call("Page.navigate", url=Path(path).resolve().as_uri())
        self.wait("document.readyState === 'complete'")

    def js(self, expression):
        """Return the value of a JavaScript expression; RuntimeError with its error if it raises."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"].get("exception", answer["exceptionDetails"])["description"])
        return answer["result"].get("value")

    def wait(self, condition, seconds=60):
        """Wait until a JavaScript expression is true."""
        end = time.monotonic() + seconds
        while not self.js(condition):
            if time.monotonic() > end:
                raise TimeoutError(condition)
            time.sleep(0.02)

    def click(self, selector, count=1):
        """Click the middle of the first element of a selector with the mouse."""
        x, y = self.js(
            f"(() => {{const e = document.querySelector({json.dumps(selector)}); e.scrollIntoView({{block: 'center'}});"
            "const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]})()"
        )
        for number in range(1, count + 1):
            for kind in "mousePressed", "mouseReleased":
                mouse = {"type": kind, "button": "left", "clickCount": number}
                self.call("Input.dispatchMouseEvent", x=x, y=y, **mouse)

    def move(self, x, y):
        """Move the mouse to a point of the window."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def key(self, name, code, shift=False, text=""):
        """Press a key, "Enter" with the code 13 say."""
        given = {"key": name, "code": name, "windowsVirtualKeyCode": code, "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **given)
        self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def choose(self, selector, value):
        """Choose a value of a <select>, or type a text into an <input>, as a person does: with the events of one."""
        self.js(
            f"(() => {{const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            "for (const name of ['input', 'change']) e.dispatchEvent(new Event(name, {bubbles: true}))})()"
        )

    def resize(self, width, height):
        """Give the window a size in pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def picture(self, path, whole=False):
        """Write a PNG of the window, or of the whole page."""
        shot = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def pdf(self, path):
        """Print the page."""
        Path(path).write_bytes(base64.b64decode(self.call("Page.printToPDF", printBackground=False)["data"]))

    def close(self):
        """End the browser."""
        os.close(self._write)
        os.close(self._read)
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.profile.cleanup()
