"""A submission from ``pubench run`` to the workflow's comment: an honest one is accepted, forged ones are refused.

The workflow calls ``.ci/submission.py``, and so do these tests. The reasons are those of the page Submitting results.
"""

from __future__ import annotations

import hashlib
import json
import re
import runpy
import shutil
import stat
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from altered import edit_json, edit_scores, list_checksums, own_table, put
from printed import Run
from pubench_report.rows.files import Board, read_board
from pubench_verify.findings import Verification
from pubench_verify.submission import unpack

import pubench
from pubench_core.errors import RecordError

pytestmark = [
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # so short a run may decide one-sidedly
    pytest.mark.filterwarnings("ignore:Duplicate name"),
    pytest.mark.usefixtures("forked_trainings"),
]
ROOT = Path(__file__).parents[4]
PAGE = ROOT / "docs" / "pages" / "submitting.md"
#: Seconds that a forged archive may take, on a busy machine; one is carried out again, in a process of its own.
SECONDS = 300.0
Change = Callable[[Path], None]
MINE = "name: my-upu\nmethods: {upu: {config: {epochs: 3, lr: 0.01}}}\ndata: [digits]\nc: [0.1]\nseeds: [2]\n"
STUDY = "name: theirs\nmethods: [vpu, pusb]\npresets: [quick]\ndata: [digits]\nc: [0.1]\nseeds: [2]\n"


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory, pubench_in: Callable[[Path], Run]) -> Path:
    """``mine``: a record of upu. ``theirs``: a study of vpu and pusb. ``boards``: a board of it.
    ``my-upu.zip``: a submission of ``mine``.
    """
    place = tmp_path_factory.mktemp("submission")
    (place / "theirs.yaml").write_text(STUDY)
    (place / "mine.yaml").write_text(MINE)
    for command in (
        ("study", "run", "theirs.yaml", "--results", "theirs", "--threads", "1"),
        ("board", "2026.12", "--from", "theirs"),
        ("study", "run", "mine.yaml", "--results", "mine", "--threads", "1"),
        ("study", "export", "my-upu", "--results", "mine"),
        ("verify", "my-upu.zip", "--with", "board@2026.12"),
    ):
        done = pubench_in(place)(*command)
        assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="module")
def board(place: Path) -> Board:
    return read_board(place / "boards" / "2026.12")


@pytest.fixture(scope="module")
def honest(place: Path) -> Path:
    """The archive of a submission."""
    return place / "my-upu.zip"


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """What ``.ci/submission.py`` defines."""
    return runpy.run_path(str(ROOT / ".ci" / "submission.py"))


# -------------------------------------------------------------------- an honest one


def test_an_honest_submission_is_accepted_with_its_rank(
    script: dict[str, Any], honest: Path, board: Board, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the workflow does: fields of the issue, then the check, which writes the comment."""
    sha256 = hashlib.sha256(honest.read_bytes()).hexdigest()
    event = tmp_path / "event.json"
    url = "https://github.com/user-attachments/files/123/my-upu.zip"
    fields = {"Archive": f"[my-upu.zip]({url})", "SHA-256 of the archive": sha256, "Package": "_No response_"}
    issue = {"body": "\n\n".join(f"### {title}\n\n{text}" for title, text in fields.items())}
    event.write_text(json.dumps({"issue": issue, "comment": {"body": f"check {sha256}\n"}}))
    assert script["main"](["fields", str(event)]) == 0
    assert capsys.readouterr().out == f"archive={url}\nsha256={sha256}\npackage=\n"

    comment = tmp_path / "comment.md"
    command = ["check", str(honest), "--sha256", sha256, "--with", str(board.folder), "--comment", str(comment)]
    assert script["main"](command) == 0
    text = comment.read_text()
    assert text.startswith("**sound**\n\n    ")
    assert "upu: rank " in text
    assert " of 3 on digits" in text  # among vpu, pusb and itself
    assert "1 record, 0 problems" in text
    assert all(line.startswith("    ") for line in text.splitlines()[2:])  # nobody is sent a message
    assert "carried out again in" in text
    assert "the same scores to the last bit" in text


@pytest.mark.parametrize(
    ("title", "text"),
    [
        ("Archive", "https://elsewhere.example/my.zip"),
        ("Archive", "https://github.com/user-attachments/files/1/a.zip\n; rm -rf /"),
        ("SHA-256 of the archive", "$(id)"),
        ("Package", "--index-url=https://elsewhere.example x"),
        ("Package", "git+https://github.com/a/b@main"),
    ],
)
def test_a_field_of_another_form_is_refused_before_anything_is_fetched(
    script: dict[str, Any], tmp_path: Path, title: str, text: str
) -> None:
    values = {
        "Archive": "https://github.com/user-attachments/files/1/a.zip",
        "SHA-256 of the archive": "0" * 64,
        "Package": "my-method==1.0",
        title: text,
    }
    event = tmp_path / "event.json"
    body = "\n\n".join(f"### {name}\n\n{value}" for name, value in values.items())
    event.write_text(json.dumps({"issue": {"body": body}}))
    with pytest.raises(SystemExit, match=f"error: the field {title}"):
        script["main"](["fields", str(event)])


@pytest.mark.parametrize("said", ["check", f"check {'0' * 64}", f"check {'0' * 64} my-method==1.0", "check x y"])
def test_an_issue_that_was_edited_since_a_person_looked_is_refused(
    script: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    url = "https://github.com/user-attachments/files/1/a.zip"
    fields = {"Archive": url, "SHA-256 of the archive": "0" * 64, "Package": "my-method==1.1"}
    body = "\n\n".join(f"### {name}\n\n{value}" for name, value in fields.items())
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"issue": {"body": body}, "comment": {"body": said}}))
    with pytest.raises(SystemExit, match="must repeat what was looked at"):
        script["main"](["fields", str(event)])
    event.write_text(json.dumps({"issue": {"body": body}, "comment": {"body": f"check {'0' * 64} my-method==1.1"}}))
    assert script["main"](["fields", str(event)]) == 0
    assert "package=my-method==1.1" in capsys.readouterr().out


def test_actions_are_pinned_to_commits_and_nothing_cached_is_published() -> None:
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        used = re.findall(r"uses: (\S+)", path.read_text())
        assert used
        assert [one for one in used if not re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40}", one)] == []
    release = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())
    (setup,) = [step for step in release["jobs"]["publish"]["steps"] if "setup-uv" in step.get("uses", "")]
    assert setup["with"]["enable-cache"] is False


def test_form_and_workflow_have_the_fields_that_the_script_reads(script: dict[str, Any]) -> None:
    form = yaml.safe_load((ROOT / ".github" / "ISSUE_TEMPLATE" / "submission.yml").read_text())
    labels = {part["attributes"].get("label") for part in form["body"]}
    assert {title for title, _ in script["FIELDS"].values()} <= labels
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "submission.yml").read_text())
    assert workflow["jobs"]["check"]["permissions"] == {"contents": "read"}  # code of others runs here
    steps = workflow["jobs"]["check"]["steps"]
    assert [step["run"] for step in steps if "submission.py fields" in step.get("run", "")]
    assert [step["run"] for step in steps if "submission.py check submission.zip" in step.get("run", "")]
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert "${{" not in step.get("run", "")  # what strangers wrote comes as environment variables


def test_the_same_records_make_the_same_bytes(
    place: Path, honest: Path, tmp_path: Path, pubench_in: Callable[[Path], Run]
) -> None:
    done = pubench_in(place)("study", "export", "my-upu", "--results", "mine", "--out", tmp_path / "again.zip")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "again.zip").read_bytes() == honest.read_bytes()


def test_a_user_table_is_refused(tmp_path: Path) -> None:
    data = pubench.data(own_table(tmp_path / "own.csv"), "labeled", truth="truth")
    run = pubench.run("upu", data, config={"epochs": 1}, results=tmp_path / "results", prior=0.5, tracking=False)
    refused(
        pubench.verify(packed(run.folder.parent, tmp_path / "own.zip")),
        "is of a user table, which nobody else can check",
    )


# -------------------------------------------------------------------- forged ones


def record_in(folder: Path) -> Path:
    return next(path.parent for path in folder.glob("*/result.json"))


def edited(change: Callable[[dict[str, Any]], Any]) -> Change:
    """A change of the result."""
    return lambda folder: edit_json(record_in(folder) / "result.json", change)


def scores(change: Callable[[dict[str, Any]], Any], *, checksum: bool = True) -> Change:
    """A change of the arrays, and of their checksum in the result."""
    return lambda folder: edit_scores(record_in(folder), change, checksum=checksum)


def _perfect(arrays: dict[str, Any]) -> None:
    for name in arrays:
        if name.startswith("test_scores_"):
            arrays[name] = np.where(arrays["test_labels"] == 1, 1.0, -1.0).astype(arrays[name].dtype)


def _nudged(arrays: dict[str, Any]) -> None:
    """One score by one bit: no measure changes."""
    name = next(name for name in arrays if name.startswith("test_scores_"))
    middle = int(np.argsort(arrays[name])[len(arrays[name]) // 2])
    arrays[name][middle] = np.nextafter(arrays[name][middle], arrays[name].dtype.type(9))


def _cherry_picked(folder: Path) -> None:
    """``pa`` has the epoch that another criterion chose, though the state that it valued more is stored."""
    best = json.loads((record_in(folder) / "result.json").read_text())["criteria"]["pa"]["snapshot"]

    def more(arrays: dict[str, Any]) -> None:
        labeled = arrays["validation_labeled"]
        arrays["test_scores_epoch-2"] = arrays[f"test_scores_{best}"]
        arrays["validation_scores_epoch-2"] = np.where(labeled, 1.0, np.linspace(-1, 0.1, len(labeled)))

    edited(lambda content: content["criteria"]["f1"].update(epoch=2, snapshot="epoch-2"))(folder)
    scores(more)(folder)


def _huge_header(folder: Path) -> None:
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }".ljust(117) + b"\n"
    with zipfile.ZipFile(record_in(folder) / "scores.npz", "a") as archive:
        archive.writestr("more.npy", b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header)


def _second_record(folder: Path) -> None:
    shutil.copytree(record_in(folder), folder / ("0" * 16))


#: Change of an honest submission whose checksums are made again; the page has the reasons.
RECORDS: dict[str, Change] = {
    "another accuracy": edited(put("criteria.pa.measures.test.accuracy.value", 0.99)),
    "perfect scores": scores(_perfect),
    "one bit of one score": scores(_nudged),
    "scores of another checksum": scores(_nudged, checksum=False),
    "an epoch that another criterion chose": _cherry_picked,
    "another seed": edited(put("spec.seed", 7)),
    "a format of the future": edited(put("record_version", 999)),
    "a trillion rows": _huge_header,
    "a record twice": _second_record,
    "no scores": lambda folder: (record_in(folder) / "scores.npz").unlink(),
}


def reasons_on_the_page() -> dict[str, str]:
    """What was changed -> why it is refused."""
    return dict(re.findall(r"^\| ([^|`]+) \| `([^|`]+)` \|$", PAGE.read_text(), re.MULTILINE))


def without_numbers(text: str) -> str:
    """A reason without run ids, digests and values, which another processor may give otherwise."""
    return re.sub(r"[0-9a-f]{16}|\d+(\.\d+)?", "#", text)


def packed(folder: Path, target: Path) -> Path:
    """An archive of a folder as ``study export`` makes them, with checksums of what is there now."""
    list_checksums(folder)
    with zipfile.ZipFile(target, "w") as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and not path.relative_to(folder).parts[0].startswith("."):
                archive.write(path, f"{folder.name}/{path.relative_to(folder)}")
    return target


@pytest.fixture
def unpacked(honest: Path, tmp_path: Path) -> Path:
    return unpack(honest, tmp_path / "unpacked")


def refused(found: Verification, words: str) -> None:
    assert not found.ok
    assert any(words in str(problem) for problem in found.problems), found.problems
    assert found.standing is None


@pytest.mark.parametrize("forgery", RECORDS)
def test_a_forged_record_is_refused_with_its_reason(unpacked: Path, board: Board, tmp_path: Path, forgery: str) -> None:
    RECORDS[forgery](unpacked)
    started = time.monotonic()
    found = pubench.verify(packed(unpacked, tmp_path / "forged.zip"), board=board.folder)
    assert time.monotonic() - started < SECONDS
    refused(found, "")
    reason = reasons_on_the_page()[forgery]
    assert without_numbers(reason) in [without_numbers(str(one)) for one in found.problems], found.problems


def test_the_page_has_the_reasons_of_these_forgeries_and_no_other() -> None:
    assert set(reasons_on_the_page()) == set(RECORDS)


def test_another_archive_than_the_issue_names_is_refused(
    script: dict[str, Any], honest: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    comment = tmp_path / "comment.md"
    assert script["main"](["check", str(honest), "--sha256", "0" * 64, "--comment", str(comment)]) == 1
    assert comment.read_text() == capsys.readouterr().out
    assert comment.read_text().startswith("**refused, 1 reasons**\n\n    the archive: it has the SHA-256")


# -------------------------------------------------------------------- archives that no pubench made


RUN = "my/" + "0" * 16
ARCHIVES: dict[str, tuple[list[str], str]] = {
    "a path that leads elsewhere": (["my/../../evil"], "is no file of a submission"),
    "an absolute path": (["/etc/cron.d/evil"], "is no file of a submission"),
    "a folder": ([f"{RUN}/"], "is no file of a submission"),
    "a hidden file": ([f"{RUN}/.x"], "is no file of a submission"),
    "two files of one name": ([f"{RUN}/spec.yaml"] * 2, "is in it twice"),
    "two folders": ([f"{RUN}/spec.yaml", f"your/{'0' * 16}/spec.yaml"], "in another folder"),
    "nothing": ([], "it has no SHA256SUMS"),
    "no checksums": ([f"{RUN}/spec.yaml"], "it has no SHA256SUMS"),
    "no record": (["my/SHA256SUMS"], "holds no records"),
}  # fmt: skip


def zipped(path: Path, *members: zipfile.ZipInfo | str, content: bytes = b"") -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for member in members:
            archive.writestr(member, content)
    return path


@pytest.mark.parametrize("name", ARCHIVES)
def test_an_archive_that_no_submission_is_writes_nothing_elsewhere(tmp_path: Path, name: str) -> None:
    members, words = ARCHIVES[name]
    path = zipped(tmp_path / "archive.zip", *members)
    refused(pubench.verify(path), words)
    assert [one.name for one in tmp_path.iterdir()] == ["archive.zip"]


def test_a_link_comes_out_as_a_file(tmp_path: Path) -> None:
    link = zipfile.ZipInfo(f"{RUN}/result.json")
    link.create_system, link.external_attr = 3, (stat.S_IFLNK | 0o777) << 16
    path = zipped(tmp_path / "archive.zip", link, "my/SHA256SUMS", content=b"/etc/passwd")
    found = unpack(path, tmp_path / "out") / ("0" * 16) / "result.json"
    assert (found.is_symlink(), found.read_text()) == (False, "/etc/passwd")


def test_a_bomb_takes_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, spec = tmp_path / "bomb.zip", zipfile.ZipInfo(f"{RUN}/spec.yaml")
    spec.compress_type = zipfile.ZIP_LZMA  # it is unpacked as a whole
    with pytest.raises(RecordError, match="is no file of a submission"):
        unpack(zipped(path, spec, content=b"x"), tmp_path / "out")
    spec = zipfile.ZipInfo(f"{RUN}/spec.yaml")
    spec.compress_type = zipfile.ZIP_DEFLATED
    packed = zipped(path, spec, content=bytes(1 << 20))
    content = packed.read_bytes()
    shorter, size = (1 << 10).to_bytes(4, "little"), (1 << 20).to_bytes(4, "little")
    packed.write_bytes(content.replace(size, shorter))  # more is in it than the header says
    with pytest.raises(RecordError, match=r"cannot be read as a \.zip"):
        unpack(path, tmp_path / "lying")
    assert (tmp_path / "lying" / RUN / "spec.yaml").stat().st_size <= 1 << 10
    packed.write_bytes(content.replace(size, (0xF0000000).to_bytes(4, "little")))
    with pytest.raises(RecordError, match="it unpacks to more than 2,147,483,648 bytes"):
        unpack(path, tmp_path / "out")
    monkeypatch.setattr(zipfile, "ZipFile", None)  # the list of files is not read
    packed.write_bytes(b"PK\1\2" * 20_001)
    with pytest.raises(RecordError, match="it holds more than 20,000 files"):
        unpack(path, tmp_path / "out")
    with path.open("ab") as file:
        file.truncate((1 << 28) + 1)
    with pytest.raises(RecordError, match="it has more than 268,435,456 bytes"):
        unpack(path, tmp_path / "out")


def test_what_is_no_archive_is_refused_in_one_line(honest: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    for content in (b"", b"no zip", b"x" * 2000, honest.read_bytes()[:-9], honest.read_bytes().replace(b"a", b"b")):
        path.write_bytes(content)
        (problem,) = pubench.verify(path).problems
        assert "\n" not in str(problem)
