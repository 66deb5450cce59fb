"""Progress: a few plain lines where output is piped, one line redrawn per stage on a terminal."""

from __future__ import annotations

import io
import sys
from threading import Event

import pytest
from made_results import made_result, made_spec
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, TextColumn

from pubench_cli.progress import LiveLine, PlainLines, display
from pubench_core.plugins.events import EpochFinished, RunStarted
from pubench_core.results import PriorFacts


def epoch(stage: str, in_stage: int, of: int, value: float | None = 0.5) -> EpochFinished:
    return EpochFinished(
        run_id="abc",
        stage=stage,
        epoch=in_stage,
        in_stage=in_stage,
        stage_epochs=of,
        seconds=30.0,
        evaluation_seconds=2.5,
        criterion="pa",
        criteria={"pa": value, "f1": 0.9},
    )


def started(true: float | None) -> RunStarted:
    facts = made_result().data.model_copy(update={"prior": PriorFacts(given=0.4, true=true)})
    return RunStarted(run_id="abc", code="def", spec=made_spec(), device="cpu", labeled=57, unlabeled=1149, data=facts)


def test_plain_lines_give_stage_epoch_criterion_seconds_and_what_is_left(capsys: pytest.CaptureFixture[str]) -> None:
    lines = PlainLines()
    lines.pubench_run_started(started(true=0.4961))
    lines.pubench_epoch_finished(epoch("warm-up", 2, 5))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.splitlines() == [
        "run abc on cpu: 57 labeled, 1149 unlabeled, prior 0.4000 (true 0.4961)",
        "warm-up 2/5  pa 0.5000  32.5 s/epoch  1:38 left",
    ]


def test_after_the_first_epoch_of_a_stage_a_line_is_printed_every_30_seconds(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, now = PlainLines(), 100.0
    monkeypatch.setattr("pubench_cli.progress.time.monotonic", lambda: now)
    for number in range(1, 11):  # an epoch every ten seconds
        lines.pubench_epoch_finished(epoch("warm-up", number, 10))
        now += 10.0
    lines.pubench_epoch_finished(epoch("train", 1, 5))
    printed = [line.split("  ")[0] for line in capsys.readouterr().err.splitlines()]
    assert printed == ["warm-up 1/10", "warm-up 4/10", "warm-up 7/10", "warm-up 10/10", "train 1/5"]


def test_a_long_epoch_says_every_minute_that_it_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    class Minutes(Event):
        """Two minutes pass at once, and then the run ends."""

        def wait(self, timeout: float | None = None) -> bool:
            nonlocal now
            now += timeout or 0.0
            return now > 250.0

    lines, now = PlainLines(), 100.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pubench_cli.progress.time.monotonic", lambda: now)
        lines.pubench_run_started(started(true=None))
        lines.say_when_silent(Minutes())
        lines.pubench_epoch_finished(epoch("train", 1, 5))
        now = 100.0
        lines.pubench_epoch_finished(epoch("train", 2, 5))
        lines.say_when_silent(Minutes())
    printed = [line for line in capsys.readouterr().err.splitlines() if "so far" in line]
    assert printed == [f"{work}, {s} s so far" for work in ("first epoch", "after train 2/5") for s in (60, 120)]


def test_a_true_prior_that_is_not_known_is_not_mentioned(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines().pubench_run_started(started(true=None))
    assert capsys.readouterr().err == "run abc on cpu: 57 labeled, 1149 unlabeled, prior 0.4000\n"


def test_an_epoch_that_was_not_scored_has_no_number(capsys: pytest.CaptureFixture[str]) -> None:
    PlainLines().pubench_epoch_finished(epoch("warm-up", 5, 5, None))
    line = capsys.readouterr().err
    assert line.startswith("warm-up 5/5  pa ")
    assert "None" not in line
    assert line.endswith("0:00 left\n")


def test_a_terminal_gets_one_line_per_stage() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100)
    columns = (TextColumn("{task.description}"), MofNCompleteColumn(), TextColumn("{task.fields[criterion]}"))
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        live = LiveLine(progress)
        live.pubench_run_started(started(true=None))
        assert [(t.description, t.total) for t in progress.tasks] == [("first epoch", None)]
        for event in (epoch("warm-up", 1, 2), epoch("warm-up", 2, 2), epoch("train", 1, 3, 0.75)):
            live.pubench_epoch_finished(event)
        assert [(t.description, t.completed, t.total) for t in progress.tasks] == [("warm-up", 2, 2), ("train", 1, 3)]
        assert progress.tasks[-1].fields["criterion"] == "pa 0.7500"
        seen = []
        for number in (1, 2):  # a method may call a stage so
            live.pubench_epoch_finished(epoch("first", number, 2))
            seen.append((progress.tasks[-1].id, progress.tasks[-1].completed))
        assert seen == [(seen[0][0], 1), (seen[0][0], 2)]
    assert "1/3" in screen.getvalue()


def test_which_one_is_used_depends_on_where_stderr_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    with display() as chosen:
        assert type(chosen) is PlainLines
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with display() as chosen:
        assert type(chosen) is LiveLine
