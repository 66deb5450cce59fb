"""A site as a folder: written aside, and put in place when it is complete."""

from __future__ import annotations

import hashlib
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from pubench_study.export import SUMS

from pubench.field_names import in_words
from pubench.field_names import said as in_python
from pubench_cli.console import err, out
from pubench_cli.messages import said
from pubench_core.errors import RequestError
from pubench_core.records.files import ENVIRONMENT, MEASURES, RESULT, SCORES, SPEC, TRAINING_SCORES

from ..report.tables import csv_text
from ..rows.files import ROWS as BOARD_ROWS
from .pages import INDEX, TABLES, Site, pages_of, slugs, tables_of
from .sources import Collected, SiteRequest, collect

#: The file that says of a folder that it is a site, which may be replaced.
MARK = ".pubench-site"
RECORDS, ROWS = "records", "rows"


@dataclass(frozen=True)
class Written:
    """``index``: the first page."""

    index: Path
    pages: int
    records: int
    bytes: int


def site(
    sources: str | Path | Iterable[str | Path] = "results",
    out: str | Path = "site",
    *,
    study: str | None = None,
    measure: str | None = None,
    criterion: str | None = None,
    with_scores: bool = False,
    title: str = "Leaderboard",
    home: str = "",
    docs: str = "",
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Writes a leaderboard that needs no server: tables, a page per method and data set, the records. Trains nothing.

    ``sources``: folders of records, files of rows (the format of ``benchmarks/results/study-*.csv``), dated boards.
    ``study``: only the runs of one. A table is of runs under the same labeling, scheme and validation.
    ``measure``: the one that is shown first; None means accuracy, as decided at the prior where most runs of a table
    have that. ``criterion``: by which epochs are chosen in the first view; None means ``pa``, or
    another that reads no true labels. ``with_scores``: copies scores, from which :func:`pubench.verify` derives
    measures. ``home``: an address that every page links to as documentation; ``docs``: that of a plugin's page in it,
    with ``{kind}`` (methods, data-sets) and ``{key}``.
    ``progress``: called with a line about each thing left out or missing.

    A site that is in ``out`` is replaced as a whole, when the new one is complete. The first page is returned.

    Raises InvalidRequest (a ValueError) where there is nothing to show, or ``out`` holds anything but a
    site.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-show")
    >>> site("to-show", "my-site").name
    'index.html'
    """
    given = [sources] if isinstance(sources, (str, Path)) else sources
    request = SiteRequest(tuple(map(Path, given)), Path(out), study, measure, criterion, with_scores, title, home, docs)
    with in_words():
        return write_site(request, lambda text: progress(in_python(text)) if progress is not None else None).index


def write_site(request: SiteRequest, say: Callable[[str], None]) -> Written:
    """Writes pages and records as :func:`site`; ``say`` is called with what is left out or missing.

    Raises RequestError if there is nothing to show, or ``out`` holds something else or cannot be written.
    """
    out = request.out
    if out.is_symlink() or (out.exists() and not out.is_dir()):
        raise RequestError(f"{out} is not a folder; --out names another one")
    if out.is_dir() and any(out.iterdir()) and not (out / MARK).exists():
        raise RequestError(f"{out} exists and is not a site of pubench; name another folder with --out")
    collected = collect(request)
    tables, notes = tables_of(collected, request)
    for note in (*collected.notes, *notes):
        say(note)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{out.name}-", dir=out.parent, ignore_cleanup_errors=True) as place:
            aside = Path(place) / "newer"
            (aside / TABLES).mkdir(parents=True)
            files = _copied(collected, aside, say, with_scores=request.with_scores)
            texts = dict(pages_of(Site(request, collected, tuple(tables), tuple(notes), files)))
            rows = {one.csv: csv_text(one.model, one.tests) for one in tables}
            for name, text in {**texts, **rows, MARK: "made by pubench site\n"}.items():
                (aside / name).write_text(text, encoding="utf-8")
            size = sum(path.stat().st_size for path in aside.rglob("*") if path.is_file())
            _put(aside, out)
    except OSError as error:
        raise RequestError(
            f"cannot write {error.filename or out}: {error.strerror or error}; --out names another folder"
        ) from error
    return Written(out / INDEX, len(texts), len(collected.published), size)


def print_site(request: SiteRequest) -> None:
    """Writes a site and says where it is; a signal ends it as Ctrl-C does, so that nothing half-written stays."""

    def end(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, end)
    try:
        written = write_site(request, lambda text: err().print(said(text), markup=False, soft_wrap=True))
    finally:
        signal.signal(signal.SIGTERM, before)
    counts = f"{written.pages} pages, {written.records:,} runs, {written.bytes / 2**20:.1f} MiB"
    out().print(f"{written.index}: {counts}", markup=False, soft_wrap=True)


def _put(aside: Path, out: Path) -> None:
    """Puts the new site in place of an older one, which stays if that fails; a signal is a failure too."""
    older = aside.with_name("older")
    try:
        if out.exists():
            out.rename(older)
        aside.rename(out)
    finally:
        if older.exists() and not out.exists():
            older.rename(out)


# -------------------------------------------------------------------- data files


def _copied(
    collected: Collected, place: Path, say: Callable[[str], None], *, with_scores: bool
) -> dict[str, tuple[tuple[str, str], ...]]:
    """Copies records and files of rows, each folder with its checksums; run id -> (name, address), the result first.

    What a link points to is not published, except for results, which were read as such.
    """
    wanted = (RESULT, MEASURES, SPEC, ENVIRONMENT, *((SCORES, TRAINING_SCORES) if with_scores else ()))
    found: dict[str, tuple[tuple[str, str], ...]] = {}
    copies: dict[str, Path] = {}
    sources = [source for source in collected.sources if source.kind != "records"]
    stems = [path.name if path.is_dir() else path.stem for path in (source.path.resolve() for source in sources)]
    called = stems if len({*stems}) == len(stems) else [str(source.path) for source in sources]
    rows: dict[Path, str] = {}
    for source, name in zip(sources, slugs(called, "rows").values(), strict=True):
        file = source.path if source.kind == "rows" else source.path / BOARD_ROWS
        rows[source.path] = f"{ROWS}/{name}{file.suffix}"
        copies[rows[source.path]] = file
    for run in collected.published:
        if run.folder in rows:
            found[run.run_id] = (("rows", rows[run.folder]),)
            continue
        names = [name for name in wanted if (run.folder / name).is_file()]
        links = [name for name in names if name != RESULT and (run.folder / name).is_symlink()]
        if links:
            say(f"{run.run_id}: {', '.join(links)} not copied, as a link may lead to anything")
        mine = {name: f"{RECORDS}/{run.run_id}/{name}" for name in names if name not in links}
        copies |= {address: run.folder / name for name, address in mine.items()}
        found[run.run_id] = tuple(mine.items())
    sums: dict[str, list[str]] = {}
    for address, path in sorted(copies.items()):
        folder, _, name = address.partition("/")
        content, target = path.read_bytes(), place / address
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)  # the checksum is of the bytes that were copied
        sums.setdefault(folder, []).append(f"{hashlib.sha256(content).hexdigest()}  {name}\n")
    for folder, lines in sums.items():
        (place / folder / SUMS).write_text("".join(lines), encoding="utf-8")
    return found
