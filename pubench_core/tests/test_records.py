"""A record is on disk whole or not at all, and is never overwritten."""

from __future__ import annotations

import errno
import json
import os
from pathlib import Path
from typing import Any

import pytest

from pubench_core.errors import RecordError, RequestError
from pubench_core.records.files import RESULT, write_json, write_rows
from pubench_core.records.store import RecordStore

RUN = "0123456789abcdef"
#: Above any process id that Linux or macOS hands out.
NOBODY = 2**31 - 1


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "results")


def finish(store: RecordStore, seconds: float = 1.0) -> None:
    with store.write(RUN) as folder:
        write_json(folder / RESULT, {"run_id": RUN, "seconds": seconds})


def left_behind(store: RecordStore, text: str, *, writer: int = NOBODY) -> Path:
    """A folder that this process was writing when it was killed."""
    folder = store.root / ".incoming" / f"{RUN}-{writer}"
    folder.mkdir(parents=True)
    (folder / RESULT).write_text(text)
    return folder


def visible(store: RecordStore) -> list[str]:
    """Everything under the results folder that is not hidden."""
    return sorted(str(p.relative_to(store.root)) for p in store.root.rglob("*") if ".incoming" not in p.parts)


def incoming(store: RecordStore) -> list[Path]:
    return list((store.root / ".incoming").iterdir())


def full_disk(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---------------------------------------------------------------- writing


def test_nothing_is_visible_until_the_block_ends(store: RecordStore) -> None:
    with store.write(RUN) as folder:
        write_json(folder / RESULT, {"run_id": RUN})
        assert store.find(RUN) is None
        assert visible(store) == []
    assert store.find(RUN) == {"run_id": RUN}
    assert visible(store) == [RUN, f"{RUN}/{RESULT}"]
    assert incoming(store) == []


@pytest.mark.parametrize("error", [ValueError("a metric is NaN"), KeyboardInterrupt(), SystemExit(3)])
def test_a_block_that_fails_leaves_nothing_and_its_error_is_not_hidden(
    store: RecordStore, error: BaseException
) -> None:
    def write() -> None:
        with store.write(RUN) as folder:
            write_json(folder / RESULT, {"run_id": RUN})
            raise error

    with pytest.raises(type(error)) as raised:
        write()
    assert raised.value is error
    assert store.find(RUN) is None
    assert visible(store) == []
    assert incoming(store) == []


def test_a_number_that_json_cannot_hold_is_refused_rather_than_written(store: RecordStore) -> None:
    with pytest.raises(ValueError, match="JSON"):
        finish(store, seconds=float("nan"))
    assert visible(store) == []


def test_an_older_record_is_kept_beside_the_newer(store: RecordStore) -> None:
    for seconds in (1.0, 2.0, 3.0):
        finish(store, seconds)
    assert store.find(RUN) == {"run_id": RUN, "seconds": 3.0}
    older = [json.loads((store.root / "superseded" / f"{RUN}-{n}" / RESULT).read_text()) for n in (1, 2)]
    assert [record["seconds"] for record in older] == [1.0, 2.0]


def test_an_older_record_stays_where_it_is_until_the_newer_is_complete(store: RecordStore) -> None:
    finish(store, 1.0)
    with store.write(RUN) as folder:
        write_json(folder / RESULT, {"run_id": RUN, "seconds": 2.0})
        assert store.find(RUN) == {"run_id": RUN, "seconds": 1.0}
        assert not (store.root / "superseded").exists()


def test_a_full_disk_is_a_record_error_and_the_older_record_stays(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(store, 1.0)
    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(RecordError, match="No space left on device") as failure:
        finish(store, 2.0)
    assert RUN in str(failure.value)
    assert isinstance(failure.value.__cause__, OSError)
    assert store.find(RUN) == {"run_id": RUN, "seconds": 1.0}
    assert visible(store) == [RUN, f"{RUN}/{RESULT}"]
    assert incoming(store) == []


def test_a_disk_that_fills_while_the_block_writes_is_a_record_error(store: RecordStore) -> None:
    def write() -> None:
        with store.write(RUN):
            full_disk(0)

    with pytest.raises(RecordError, match="No space left on device"):
        write()
    assert visible(store) == []


def test_a_record_that_cannot_be_put_in_place_leaves_the_older_one_there(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    finish(store, 1.0)
    rename = Path.rename

    def refuse_incoming(self: Path, target: Path) -> Path:
        if ".incoming" in self.parts:
            full_disk(0)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse_incoming)
    with pytest.raises(RecordError, match="No space left on device"):
        finish(store, 2.0)
    assert store.find(RUN) == {"run_id": RUN, "seconds": 1.0}


def test_a_results_folder_that_is_a_file_is_said_before_any_work_and_when_writing(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    store = RecordStore(tmp_path / "results")
    with pytest.raises(RequestError, match="--results"):
        store.check_writable()
    with pytest.raises(RecordError, match=RUN):
        finish(store)
    with pytest.raises(RecordError, match="failure record"):
        store.write_failure(RUN, {})


def test_a_folder_that_is_asked_whether_it_is_writable_looks_the_same_afterwards(store: RecordStore) -> None:
    store.check_writable()
    assert visible(store) == []
    assert incoming(store) == []


# ---------------------------------------------------------------- what a killed run left behind


def test_a_complete_folder_of_a_dead_writer_is_the_record(store: RecordStore) -> None:
    left_behind(store, json.dumps({"run_id": RUN, "seconds": 5.0}))
    assert store.find(RUN) == {"run_id": RUN, "seconds": 5.0}
    assert visible(store) == [RUN, f"{RUN}/{RESULT}"]


def test_a_complete_folder_of_a_dead_writer_is_kept_when_the_run_is_done_again(store: RecordStore) -> None:
    left_behind(store, json.dumps({"run_id": RUN, "seconds": 5.0}))
    finish(store, 6.0)  # as --force does: without looking for a record first
    assert store.find(RUN) == {"run_id": RUN, "seconds": 6.0}
    kept = json.loads((store.root / "superseded" / f"{RUN}-1" / RESULT).read_text())
    assert kept["seconds"] == 5.0


def test_a_complete_folder_of_a_living_writer_is_left_to_it(store: RecordStore) -> None:
    folder = left_behind(store, json.dumps({"run_id": RUN}), writer=os.getppid())
    assert store.find(RUN) is None
    finish(store)
    assert folder.exists()


@pytest.mark.parametrize("text", ["", '{"run_id": "0123', "\x00" * 40])
def test_an_incomplete_folder_of_a_dead_writer_is_no_record_and_is_cleared_by_the_next(
    store: RecordStore, text: str
) -> None:
    folder = left_behind(store, text)
    assert store.find(RUN) is None
    finish(store)
    assert not folder.exists()
    assert store.find(RUN) == {"run_id": RUN, "seconds": 1.0}


def test_a_record_in_place_wins_over_what_a_dead_writer_left(store: RecordStore) -> None:
    finish(store, 1.0)
    left_behind(store, json.dumps({"run_id": RUN, "seconds": 5.0}))
    assert store.find(RUN) == {"run_id": RUN, "seconds": 1.0}


def test_what_was_left_of_another_run_is_not_touched(store: RecordStore) -> None:
    other = store.root / ".incoming" / f"{RUN[::-1]}-{NOBODY}"
    other.mkdir(parents=True)
    finish(store)
    assert other.exists()


# ---------------------------------------------------------------- reading


def test_a_run_that_was_never_recorded_is_not_found(store: RecordStore) -> None:
    assert store.find(RUN) is None
    finish(store)
    assert store.find(RUN[::-1]) is None


@pytest.mark.parametrize(
    "content",
    [b"", b'{"run_id": "0123', b"[]", b"null", b'"text"', b"\xff\xfe\x00", b'{"run_id": "another"}', b"{}"],
)
def test_a_damaged_record_is_refused_with_its_path_and_a_way_out(store: RecordStore, content: bytes) -> None:
    finish(store)
    path = store.folder(RUN) / RESULT
    path.write_bytes(content)
    with pytest.raises(RecordError) as refusal:
        store.find(RUN)
    assert str(path) in str(refusal.value)
    assert "--force" in str(refusal.value)


def test_a_record_that_cannot_be_read_is_refused(store: RecordStore) -> None:
    (store.folder(RUN) / RESULT).mkdir(parents=True)
    with pytest.raises(RecordError, match="cannot be read"):
        store.find(RUN)


def test_a_damaged_record_can_be_replaced_and_is_kept(store: RecordStore) -> None:
    finish(store)
    (store.folder(RUN) / RESULT).write_text("damaged")
    finish(store, 2.0)
    assert store.find(RUN) == {"run_id": RUN, "seconds": 2.0}
    assert (store.root / "superseded" / f"{RUN}-1" / RESULT).read_text() == "damaged"


def test_all_records_come_oldest_first_without_what_failed_or_was_superseded(store: RecordStore) -> None:
    times = {"a" * 16: "2026-03-01T00:00:00Z", "b" * 16: "2026-01-01T00:00:00Z", "c" * 16: "2026-02-01T00:00:00Z"}
    assert store.all() == []
    for run_id, finished_at in [("a" * 16, "2025-01-01T00:00:00Z"), *times.items()]:
        with store.write(run_id) as folder:
            write_json(folder / RESULT, {"run_id": run_id, "finished_at": finished_at})
    store.write_failure("d" * 16, {"reason": "loss is nan"})
    (store.root / "notes").mkdir()
    found = store.all()
    assert [record["run_id"][0] for _, record in found] == ["b", "c", "a"]
    assert [folder for folder, _ in found] == [store.folder(letter * 16) for letter in "bca"]


# ---------------------------------------------------------------- failures, files


def test_failures_are_numbered_and_never_look_like_a_record(store: RecordStore) -> None:
    paths = [store.write_failure(RUN, {"reason": f"loss is nan, time {n}"}) for n in (1, 2, 3)]
    assert [p.relative_to(store.root) for p in paths] == [Path(f"failed/{RUN}-{n}/failure.json") for n in (1, 2, 3)]
    assert json.loads(paths[1].read_text())["reason"] == "loss is nan, time 2"
    assert not list(store.root.rglob(RESULT))
    assert store.find(RUN) is None


def test_failures_of_another_run_have_their_own_numbers(store: RecordStore) -> None:
    store.write_failure(RUN, {})
    assert store.write_failure(RUN[::-1], {}).parent.name == f"{RUN[::-1]}-1"


def test_rows_have_the_union_of_all_columns_and_absent_values_are_empty(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "test-f1": 0.25}]
    write_rows(tmp_path / "trace.csv", rows)
    assert (tmp_path / "trace.csv").read_text().splitlines() == ["epoch,loss,test-f1", "1,0.5,", "2,,0.25"]
