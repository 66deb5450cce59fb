"""A headless Chromium that is driven through two pipes, as a person at a keyboard would: no driver, no network."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
#: Seconds that a browser may take for anything at all.
LIMIT = 60.0
#: Key -> what the browser is told of it: code, number, and the text that it types.
KEYS: dict[str, tuple[str, int, str]] = {
    "Tab": ("Tab", 9, ""),
    "Enter": ("Enter", 13, "\r"),
    " ": ("Space", 32, " "),
    "Backspace": ("Backspace", 8, ""),
}


class Browser:
    """One page. What is asked goes to the browser as JSON, and answers come back, each ended by a zero byte."""

    def __init__(self, to: int, answers: int) -> None:
        self._to, self._answers, self._rest, self._last = to, answers, b"", 0
        target = self._ask("Target.getTargets")["targetInfos"][0]["targetId"]
        self._session = self._ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self._say("Page.enable")

    def _say(self, method: str, **parameters: Any) -> Any:
        return self._ask(method, session=self._session, **parameters)

    def _ask(self, method: str, *, session: str = "", **parameters: Any) -> Any:
        self._last += 1
        message: dict[str, Any] = {"id": self._last, "method": method, "params": parameters}
        os.write(self._to, json.dumps(message | ({"sessionId": session} if session else {})).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._last:
                assert "error" not in answer, answer["error"]
                return answer["result"]

    def _next(self) -> Any:
        while b"\0" not in self._rest:
            read = os.read(self._answers, 1 << 16)
            assert read, "the browser has ended"
            self._rest += read
        text, _, self._rest = self._rest.partition(b"\0")
        return json.loads(text)

    def open(self, path: Path, size: tuple[int, int] = (1280, 900)) -> None:
        """A file, once its script has run; ``size``: of the window."""
        self._say(
            "Emulation.setDeviceMetricsOverride", width=size[0], height=size[1], deviceScaleFactor=1, mobile=False
        )
        self._say("Page.navigate", url=path.as_uri())
        self.wait_for("document.readyState + location.protocol === 'completefile:'")

    def press(self, key: str, times: int = 1, *, shift: bool = False) -> None:
        """A key that goes down and up."""
        code, number, text = KEYS[key] if key in KEYS else (f"Key{key.upper()}", ord(key.upper()), key)
        what = {"key": key, "code": code, "windowsVirtualKeyCode": number, "modifiers": 8 if shift else 0}
        for _ in range(times):
            self._say("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **what)
            self._say("Input.dispatchKeyEvent", type="keyUp", **what)

    def type(self, text: str) -> None:
        """Letter by letter."""
        for letter in text:
            self.press(letter)

    def wait_for(self, expression: str) -> None:
        """Until a script's expression is true: what a key sets off may come after the key."""
        end = time.monotonic() + LIMIT
        while not self.value(expression):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def value(self, expression: str) -> Any:
        """What a script's expression gives."""
        answer = self._say("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")


@contextmanager
def browser() -> Iterator[Browser]:
    """A Chromium of its own, with a profile of its own; both are gone afterwards."""
    assert CHROMIUM is not None
    (theirs_in, to), (answers, theirs_out) = os.pipe(), os.pipe()
    with tempfile.TemporaryDirectory(prefix="pubench-chromium", ignore_cleanup_errors=True) as profile:
        # It reads from descriptor 3 and writes to 4; a shell puts the pipes there, whatever numbers they have here.
        words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "about:blank"]
        script = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
        process = subprocess.Popen(
            ["bash", "-c", script, "bash", *words, f"--user-data-dir={profile}"],
            pass_fds=(theirs_in, theirs_out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        os.close(theirs_in)
        os.close(theirs_out)
        late = threading.Timer(LIMIT, process.kill)  # a browser that hangs ends, and the next read says so
        late.start()
        try:
            yield Browser(to, answers)
        finally:
            late.cancel()
            process.kill()
            process.wait()
            os.close(to)
            os.close(answers)
