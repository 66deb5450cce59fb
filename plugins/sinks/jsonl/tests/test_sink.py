"""Records as lines of a file: each once and whole."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from made_results import made_result
from printed import Run
from pubench_jsonl.sink import JsonLines

from pubench_cli.track import send_missing
from pubench_core.records.files import RESULT, result_text
from pubench_core.records.record import Record
from pubench_core.sinks import SinkUnavailable


def make_record(results: Path, n: int) -> Record:
    result = made_result(f"{n:016x}")
    folder = results / result.run_id
    folder.mkdir(parents=True)
    (folder / RESULT).write_text(result_text(result))
    return Record(folder, result)


def lines(file: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def test_a_line_is_the_result_of_a_record(tmp_path: Path) -> None:
    record = make_record(tmp_path, 1)
    sink = JsonLines(tmp_path, None)
    assert not sink.has(record)
    sink.send(record)
    assert sink.has(record)
    assert lines(tmp_path / "records.jsonl") == [json.loads((record.folder / RESULT).read_text())]


def test_a_record_is_sent_once(tmp_path: Path) -> None:
    records = [make_record(tmp_path, n) for n in range(3)]
    sink = JsonLines(tmp_path, str(tmp_path / "all.jsonl"))
    sink.send(records[1])
    sink.send(records[1])
    done = send_missing(sink, tmp_path)
    assert (done.sent, done.already_there, done.left_out) == (2, 1, ())
    assert sorted(str(line["run_id"]) for line in lines(tmp_path / "all.jsonl")) == [f"{n:016x}" for n in range(3)]


def test_a_run_carried_out_again_is_another_record(tmp_path: Path) -> None:
    record = make_record(tmp_path, 1)
    sink = JsonLines(tmp_path, None)
    sink.send(record)
    later = Record(record.folder, record.result.model_copy(update={"finished_at": "2031-01-01T00:00:00Z"}))
    assert not sink.has(later)


def test_a_line_that_was_cut_off_is_sent_again(tmp_path: Path) -> None:
    record, file = make_record(tmp_path, 1), tmp_path / "records.jsonl"
    sink = JsonLines(tmp_path, None)
    sink.send(record)
    file.write_bytes(file.read_bytes()[:-40])
    assert not sink.has(record)
    sink.send(record)
    assert json.loads(file.read_text().splitlines()[1])["run_id"] == record.result.run_id


def test_processes_take_turns(tmp_path: Path) -> None:
    folders = [make_record(tmp_path, n).folder for n in range(2)]
    code = (
        "import sys; from pathlib import Path; from pubench_jsonl.sink import JsonLines; "
        "from pubench_core.records.record import read_record; "
        "JsonLines(Path(sys.argv[1]).parent, None).send(read_record(Path(sys.argv[1])))"
    )
    running = [subprocess.Popen([sys.executable, "-c", code, str(folder)]) for folder in [*folders, *folders]]
    assert [process.wait() for process in running] == [0] * 4
    assert sorted(str(line["run_id"]) for line in lines(tmp_path / "records.jsonl")) == sorted(f.name for f in folders)


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    record = make_record(tmp_path, 1)
    (tmp_path / "text").write_text("no folder")
    with pytest.raises(SinkUnavailable, match=r"text/x\.jsonl cannot be written: .*'pubench track' sends it later"):
        JsonLines(tmp_path, str(tmp_path / "text" / "x.jsonl")).send(record)


def test_a_run_that_names_the_jsonl_sink_is_sent_and_track_completes_it(
    pubench_in: Callable[[Path], Run], tmp_path: Path
) -> None:
    pubench = pubench_in(tmp_path)
    no_server = ("--tracking-uri", "sqlite:///nowhere/x.db")
    run = ("run", "--method", "upu", "--data", "digits", "--set", "epochs=1", "--threads", "1", *no_server)
    done = pubench(*run, "--sinks", "jsonl=runs.jsonl")
    assert done.returncode == 0, done.stderr
    (line,) = lines(tmp_path / "runs.jsonl")
    assert (tmp_path / "results" / str(line["run_id"])).is_dir()
    assert pubench("track", "--to", "jsonl=runs.jsonl").stdout == "0 sent, 1 already there, 0 left out: runs.jsonl\n"
    assert pubench("track", "--to", "jsonl").stdout == "1 sent, 0 already there, 0 left out: results/records.jsonl\n"
    assert pubench(*run, "--seed", "3").returncode == 0
    assert len(lines(tmp_path / "results" / "records.jsonl")) == 1  # the sink was not named
