"""What programs read is one JSON value, whatever happens while it is written."""

from __future__ import annotations

import io
import sys

import pytest

from pubench_cli import machine


@pytest.fixture(autouse=True)
def nothing_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_printed", False)


class Interrupted(io.StringIO):
    """Ctrl-C comes while the first text is written."""

    def write(self, text: str) -> int:
        if not self.getvalue():
            super().write(text)
            raise KeyboardInterrupt
        return super().write(text)


def test_an_interrupt_while_a_value_is_written_adds_no_second_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", Interrupted())
    with pytest.raises(KeyboardInterrupt):
        machine.print_json({"accuracy": 0.5})
    before = sys.stdout.getvalue()
    machine.print_error("interrupted; nothing unfinished was recorded", 130)
    assert sys.stdout.getvalue() == before


def test_without_a_value_the_error_is_the_value(capsys: pytest.CaptureFixture[str]) -> None:
    machine.print_error("interrupted", 130)
    machine.print_error("again", 130)
    assert capsys.readouterr().out == '{\n  "error": "interrupted",\n  "field": "",\n  "exit_code": 130\n}\n'
