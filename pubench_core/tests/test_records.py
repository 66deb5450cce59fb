"""A record is on disk whole or not at all, and is never overwritten."""

from __future__ import annotations

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import RUN, made_failure, made_result

from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import Hint, RecordError, RequestError
from pubench_core.records.files import RESULT, result_text, write_json, write_predictions, write_rows
from pubench_core.records.record import OtherFormat, read_record
from pubench_core.records.store import RecordStore
from pubench_core.results import RECORD_VERSION, Failure, Result

#: Above any process id that Linux or macOS hands out.
NOBODY = 2**31 - 1


@pytest.fixture
def store(tmp_path: Path) -> RecordStore:
    return RecordStore(tmp_path / "results")


def result(epochs: int = 1, run_id: str = RUN, **changes: Any) -> Result:
    """A result that is known by its epochs."""
    return made_result(run_id, epochs=epochs, **changes)


def finish(store: RecordStore, epochs: int = 1) -> None:
    with store.write(RUN) as folder:
        (folder / RESULT).write_text(result_text(result(epochs)))


def found(store: RecordStore, run_id: str = RUN) -> Result | None:
    """The stored result."""
    record = store.find(run_id)
    assert record is None or record.folder == store.folder(run_id)
    return record.result if record is not None else None


def epochs_in(path: Path) -> Any:
    return json.loads(path.read_text())["epochs"]


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
    return [path for path in (store.root / ".incoming").iterdir() if path.name != ".lock"]


def full_disk(descriptor: int) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# ---------------------------------------------------------------- writing


def test_nothing_is_visible_until_the_block_ends(store: RecordStore) -> None:
    with store.write(RUN) as folder:
        (folder / RESULT).write_text(result_text(result()))
        assert store.find(RUN) is None
        assert visible(store) == []
    assert found(store) == result()
    assert visible(store) == [RUN, f"{RUN}/{RESULT}"]
    assert incoming(store) == []


@pytest.mark.parametrize("error", [ValueError("a metric is NaN"), KeyboardInterrupt(), SystemExit(3)])
def test_a_block_that_fails_leaves_nothing_and_its_error_is_not_hidden(
    store: RecordStore, error: BaseException
) -> None:
    def write() -> None:
        with store.write(RUN) as folder:
            (folder / RESULT).write_text(result_text(result()))
            raise error

    with pytest.raises(type(error)) as raised:
        write()
    assert raised.value is error
    assert store.find(RUN) is None
    assert visible(store) == []
    assert incoming(store) == []


def test_a_number_that_json_cannot_hold_is_refused_rather_than_written(store: RecordStore) -> None:
    with pytest.raises(ValueError, match="JSON"), store.write(RUN) as folder:
        write_json(folder / RESULT, {"run_id": RUN, "epochs": float("nan")})
    assert visible(store) == []


def test_an_older_record_is_kept_beside_the_newer(store: RecordStore) -> None:
    for epochs in (1, 2, 3):
        finish(store, epochs)
    assert found(store) == result(3)
    older = [read_record(store.root / "superseded" / f"{RUN}-{n}").result for n in (1, 2)]
    assert older == [result(1), result(2)]


def test_an_older_record_stays_where_it_is_until_the_newer_is_complete(store: RecordStore) -> None:
    finish(store, 1)
    with store.write(RUN) as folder:
        (folder / RESULT).write_text(result_text(result(2)))
        assert found(store) == result(1)
        assert not (store.root / "superseded").exists()


@pytest.mark.parametrize("moment", ["write_text", "fsync"])
def test_a_full_disk_is_a_record_error_and_the_older_record_stays(
    store: RecordStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    finish(store, 1)
    real = getattr(Path, moment, None)

    def full(self: Path, *given: Any) -> Any:
        return full_disk(0) if ".incoming" in self.parts else real and real(self, *given)

    monkeypatch.setattr(*((os, moment, full_disk) if real is None else (Path, moment, full)))
    with pytest.raises(RecordError, match="No space left on device") as failure:
        finish(store, 2)
    assert RUN in str(failure.value)
    assert isinstance(failure.value.__cause__, OSError)
    assert found(store) == result(1)
    assert visible(store) == [RUN, f"{RUN}/{RESULT}"]
    assert incoming(store) == []


def test_a_results_folder_that_is_a_file_is_refused_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("")
    store = RecordStore(tmp_path / "results")
    with pytest.raises(RequestError, match=r"execution\.results") as refused:
        store.check_writable()
    assert (refused.value.field, refused.value.value) == ("execution.results", tmp_path / "results")
    with pytest.raises(RecordError, match=RUN):
        finish(store)
    with pytest.raises(RecordError, match="failure record"):
        store.write_failure(made_failure())


def test_checking_that_a_folder_is_writable_leaves_it_unchanged(store: RecordStore) -> None:
    store.check_writable()
    assert visible(store) == []
    assert incoming(store) == []


# ---------------------------------------------------------------- what a killed run left behind


def test_a_complete_folder_of_a_dead_writer_is_kept_when_the_run_repeats(store: RecordStore) -> None:
    left_behind(store, result_text(result(5)))
    finish(store, 6)  # without looking for a record first
    assert found(store) == result(6)
    assert epochs_in(store.root / "superseded" / f"{RUN}-1" / RESULT) == 5


def test_a_complete_folder_of_a_living_writer_is_left_to_it(store: RecordStore) -> None:
    with store.write(RUN) as folder:
        (folder / RESULT).write_text(result_text(result(5)))
        assert RecordStore(store.root).find(RUN) is None
        finish(RecordStore(store.root))
        assert folder.exists()
    assert found(store) == result(5)


@pytest.mark.parametrize("text", ["", '{"run_id": "0123', "\x00" * 40])
def test_an_incomplete_folder_of_a_dead_writer_is_cleared_by_the_next(store: RecordStore, text: str) -> None:
    folder = left_behind(store, text)
    assert store.find(RUN) is None
    finish(store)
    assert not folder.exists()
    assert found(store) == result(1)


def test_a_record_in_place_wins_over_what_a_dead_writer_left(store: RecordStore) -> None:
    finish(store, 1)
    left_behind(store, result_text(result(5)))
    assert found(store) == result(1)


def test_what_a_dead_writer_of_another_run_left_is_cleared_or_put_in_place(store: RecordStore) -> None:
    half, complete = (store.root / ".incoming" / f"{letter * 16}-{NOBODY}" for letter in "ab")
    for folder in (half, complete):
        folder.mkdir(parents=True)
    (complete / RESULT).write_text(result_text(result(run_id="b" * 16)))
    finish(store)
    assert incoming(store) == []
    assert not (store.root / ("a" * 16)).exists()
    assert found(store, "b" * 16) == result(run_id="b" * 16)


# ---------------------------------------------------------------- reading


def test_a_run_that_was_never_recorded_is_not_found(store: RecordStore) -> None:
    assert store.find(RUN) is None
    finish(store)
    assert store.find(RUN[::-1]) is None


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b'{"run_id": "0123', b"[]", b"null", b'"text"', b"\xff\xfe\x00", b"{}", b"[" * 200_000, b"9" * 5000),
        b'{"run_id": "x", "record_version": [' + b"9," * 5000 + b"1]}",
        result_text(result(run_id="another")).encode(),
        f'{{"run_id": "{RUN}", "record_version": {RECORD_VERSION}}}'.encode(),
        result_text(result()).replace('"epochs": 1', '"epochs": "many"').encode(),
        result_text(result()).replace(f'version": {RECORD_VERSION}', f'version": "{RECORD_VERSION}"').encode(),
    ],
)
def test_a_damaged_record_is_refused_with_its_path_and_a_way_out(store: RecordStore, content: bytes) -> None:
    finish(store)
    path = store.folder(RUN) / RESULT
    path.write_bytes(content)
    with pytest.raises(RecordError) as refusal:
        store.find(RUN)
    assert str(path) in str(refusal.value)
    assert "move it away" in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert len(str(refusal.value)) < 600
    assert refusal.value.hint == Hint("run again")
    assert not isinstance(refusal.value, OtherFormat)


@pytest.mark.parametrize("version", [RECORD_VERSION - 1, RECORD_VERSION + 1, None])
def test_a_record_of_another_format_is_said_to_be_one_and_is_kept(store: RecordStore, version: object) -> None:
    finish(store)
    path = store.folder(RUN) / RESULT
    older = {"run_id": RUN, "test": {"f1": 0.5}} | ({"record_version": version} if version is not None else {})
    path.write_text(json.dumps(older))
    with pytest.raises(OtherFormat) as refusal:
        store.find(RUN)
    assert refusal.value.version == version
    assert f"{path} is a record of format {version}" in str(refusal.value)
    assert f"reads format {RECORD_VERSION}" in str(refusal.value)
    assert json.loads(path.read_text()) == older


def test_a_field_that_this_version_does_not_know_is_damage_with_its_name(store: RecordStore) -> None:
    finish(store)
    path = store.folder(RUN) / RESULT
    path.write_text(json.dumps({**result().model_dump(mode="json"), "verdict": "good"}))
    with pytest.raises(RecordError, match=r"is damaged \(verdict: Extra inputs are not permitted\)"):
        store.find(RUN)


def test_a_record_that_cannot_be_read_is_refused(store: RecordStore) -> None:
    (store.folder(RUN) / RESULT).mkdir(parents=True)
    with pytest.raises(RecordError, match="cannot be read"):
        store.find(RUN)


def test_records_are_listed_oldest_first_without_failed_or_superseded_ones(store: RecordStore) -> None:
    times = {"a" * 16: "2026-03-01T00:00:00Z", "b" * 16: "2026-01-01T00:00:00Z", "c" * 16: "2026-02-01T00:00:00Z"}
    assert store.all() == ([], [])
    for run_id, finished_at in [("a" * 16, "2025-01-01T00:00:00Z"), *times.items()]:
        with store.write(run_id) as folder:
            (folder / RESULT).write_text(result_text(result(run_id=run_id, finished_at=finished_at)))
    store.write_failure(made_failure("d" * 16))
    (store.root / "notes").mkdir()
    records, unreadable = store.all()
    assert [record.result.run_id[0] for record in records] == ["b", "c", "a"]
    assert [record.folder for record in records] == [store.folder(letter * 16) for letter in "bca"]
    assert unreadable == []


def test_records_that_cannot_be_read_do_not_hide_the_others(store: RecordStore) -> None:
    finish(store)
    for name, content in (("1" * 16, "damaged"), ("2" * 16, '{"run_id": "2", "record_version": 1}')):
        store.folder(name).mkdir()
        (store.folder(name) / RESULT).write_text(content)
    records, unreadable = store.all()
    assert [record.result for record in records] == [result()]
    damaged, older = unreadable
    assert "cannot be read" in str(damaged)
    assert isinstance(older, OtherFormat)


def test_a_record_is_found_by_its_id_its_first_digits_or_its_folder(store: RecordStore) -> None:
    finish(store)
    for name in (RUN, RUN[:4], str(store.folder(RUN))):
        assert folder_of_run(store.root, name) == store.folder(RUN)
    with store.write(RUN[:8] + "f" * 8) as folder:
        (folder / RESULT).write_text(result_text(result()))
    with pytest.raises(RequestError, match=f"several runs start with '{RUN[:4]}': {RUN}, {RUN[:8]}f"):
        folder_of_run(store.root, RUN[:4])
    for name in ("ffff", "../x", "*"):
        with pytest.raises(RequestError, match="no finished run"):
            folder_of_run(store.root, name)


def test_a_run_that_did_not_finish_is_located_to_say_why_it_has_no_record(store: RecordStore) -> None:
    early = store.write_failure(made_failure(reason="an earlier reason"))
    late = store.write_failure(made_failure(reason="the reason", cause="refused"))
    told = (
        f"run {RUN} was refused, so it has no record: the reason; {late}/failure.json has the rest. Run it again once"
    )
    for name in (RUN, RUN[:4], str(late)):
        with pytest.raises(RequestError, match=f"^{re.escape(told)}"):
            folder_of_run(store.root, name)
    with pytest.raises(RequestError, match=f"run {RUN} failed, so it has no record: an earlier reason"):
        folder_of_run(store.root, str(early))
    store.write_failure(made_failure(RUN[:4] + "f" * 12))
    with pytest.raises(RequestError, match="no finished run"):
        folder_of_run(store.root, RUN[:4])
    (late / "failure.json").write_text("{")
    with pytest.raises(RequestError, match="is of a run that did not finish, and cannot be read; run it again"):
        folder_of_run(store.root, RUN)
    finish(store)
    assert folder_of_run(store.root, RUN) == store.folder(RUN)


# ---------------------------------------------------------------- failures, files


def test_failures_are_numbered_and_never_look_like_a_record(store: RecordStore) -> None:
    failures = [made_failure(reason=f"loss is nan, time {n}") for n in (1, 2, 3)]
    folders = [store.write_failure(failure) for failure in failures]
    assert [p.relative_to(store.root) for p in folders] == [Path(f"failed/{RUN}-{n}") for n in (1, 2, 3)]
    read = [Failure.model_validate_json((folder / "failure.json").read_text()) for folder in folders]
    assert read == failures
    assert not list(store.root.rglob(RESULT))
    assert store.find(RUN) is None


def test_failures_of_another_run_have_their_own_numbers(store: RecordStore) -> None:
    store.write_failure(made_failure())
    assert store.write_failure(made_failure(RUN[::-1])).name == f"{RUN[::-1]}-1"


def test_predictions_rank_the_rows_and_equal_scores_share_the_better_rank(tmp_path: Path) -> None:
    write_predictions(tmp_path / "predictions.csv", np.array([4, 7, 9, 11]), np.array([0.5, -1.0, 0.5, 0.0]))
    assert (tmp_path / "predictions.csv").read_text().splitlines() == [
        "row,score,rank,decision",
        "4,0.5,1,1",
        "7,-1.0,4,0",
        "9,0.5,1,1",
        "11,0.0,3,0",
    ]


def test_rows_have_the_union_of_all_columns_and_absent_values_are_empty(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "test-f1": 0.25}]
    write_rows(tmp_path / "trace.csv", rows)
    assert (tmp_path / "trace.csv").read_text().splitlines() == ["epoch,loss,test-f1", "1,0.5,", "2,,0.25"]
