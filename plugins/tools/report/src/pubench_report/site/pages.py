"""The pages of a site, with the report's looks and script."""

from __future__ import annotations

import re
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from pubench.running import RunResult

from ..report.model import Measure
from ..report.page import FILTER, document, escaped, html_table, noted, page, wide
from ..report.tables import Entry, Table, entry, upper
from .board import Board, boards_of, front_page
from .cards import Facts, data_card, method_card
from .protocols import Protocol, slugs
from .sources import Collected

#: Pages that every site has.
INDEX, RECORDS, CONTRIBUTE = "index.html", "records.html", "contribute.html"
#: Folder of the tables for programs.
TABLES = "tables"
MIB = 2**20
_ADDRESS = re.compile(r"https?://\S+")


@dataclass(frozen=True)
class Site:
    """``records``: run id -> address of its record; ``files``: run id -> (name, address) of all its files. ``home``:
    address that every page links to.
    """

    title: str
    collected: Collected
    protocols: tuple[Protocol, ...]
    notes: tuple[str, ...]
    records: Mapping[str, str]
    files: Mapping[str, tuple[tuple[str, str], ...]]
    figures: bool = True
    home: str = ""

    @cached_property
    def boards(self) -> list[Board]:
        """The settings of the front page, the largest first."""
        return boards_of(self.protocols)

    @cached_property
    def methods(self) -> dict[str, str]:
        """Key -> its page."""
        return slugs(sorted({run.result.spec.method.key for run in self.collected.done}), "method")

    @cached_property
    def data(self) -> dict[str, str]:
        """Key -> its page."""
        return slugs(sorted({run.result.spec.data.key for run in self.collected.done}), "data")


def pages_of(site: Site) -> Iterator[tuple[str, str]]:
    """(name of a file, its HTML)."""
    yield INDEX, _index(site)
    for one in site.protocols:
        title = (f"{site.title}: {one.name}", *_counts(one))
        yield (
            _file(one.key),
            page(one.model, one.tests, title, above=_above(site), records=site.records, figures=site.figures),
        )
    for key, name in site.methods.items():
        yield _file(name), _method(site, key)
    for key, name in site.data.items():
        yield _file(name), _data(site, key)
    yield RECORDS, _records(site)
    yield CONTRIBUTE, _contribute(site)


def _file(key: str) -> str:
    return f"{key}.html"


def _above(site: Site) -> str:
    links = {INDEX: site.title, RECORDS: "Runs", CONTRIBUTE: "Add your own"}
    links |= {site.home: "Documentation"} if site.home else {}
    items = "".join(f'<li><a href="{escaped(to)}">{escaped(text)}</a></li>' for to, text in links.items())
    return f'<nav aria-label="Site"><ul>{items}</ul></nav>'


def _document(site: Site, title: str, body: Sequence[str]) -> str:
    return document(title, [_above(site), f"<h1>{escaped(title)}</h1>", FILTER, *body])


def _section(title: str, *content: str) -> str:
    return f"<section><h2>{escaped(title)}</h2>{''.join(content)}</section>"


def _shown(table: Table) -> str:
    """A table with its heading and notes; nothing where it has no rows."""
    head = f"<h3>{escaped(table.title)}</h3>" if table.title else ""
    return (
        f"{head}{wide(table.title or table.key, html_table(table))}{''.join(noted(table.notes))}" if table.rows else ""
    )


def _facts(facts: Facts) -> str:
    return f"<dl>{''.join(f'<dt>{escaped(name)}</dt><dd>{_linked(value)}</dd>' for name, value in facts)}</dl>"


def _linked(text: str) -> str:
    """An address as a link; no other scheme than this one is followed."""
    return f'<a href="{escaped(text)}">{escaped(text)}</a>' if _ADDRESS.fullmatch(text) else escaped(text)


def _counts(one: Protocol) -> list[str]:
    gathered = one.model.gathered
    done = gathered.done
    data = {run.result.spec.data.key for run in done}
    said = [f"{len(done):,} runs", f"{len({*one.method_of.values()})} methods", f"{len(data)} data sets"]
    said += [f"{gathered.missing:,} still to be run"] if gathered.missing else []
    said += [f"{len(gathered.failed):,} failed"] if gathered.failed else []
    studies = f"Studies: {', '.join(one.studies)}." if one.studies else ""
    return [f"{', '.join(said)}. {studies}".strip()]


# -------------------------------------------------------------------- the first page


def _index(site: Site) -> str:
    tables = Table(
        "protocols",
        "",
        ("table", "methods", "data sets", "runs", "still to be run", "failed", "for programs"),
        tuple(
            (
                Entry(one.name, link=_file(one.key), why=one.title),
                Entry(str(len({*one.method_of.values()}))),
                Entry(str(len({run.result.spec.data.key for run in one.model.gathered.done}))),
                Entry(f"{len(one.model.gathered.done)}"),
                Entry(f"{one.model.gathered.missing}" if one.planned else "unknown"),
                Entry(f"{len(one.model.gathered.failed)}"),
                Entry("CSV", link=f"{TABLES}/{one.key}.csv"),
            )
            for one in site.protocols
        ),
    )
    lists = {"Tables": _shown(tables), "Data sets": _shown(_data_sets(site))}
    notes = [*site.notes, *site.collected.notes]
    return front_page(site.title, site.boards, site.methods, lists, _shown(_sources(site)), notes, site.home)


def _row(site: Site, one: Protocol, row: str) -> Entry:
    """A row's name, which leads to the page of its method."""
    page_of = site.methods.get(one.method_of[row], "")
    return Entry(one.model.row_name(row), link=_file(page_of) if page_of else "")


def _elsewhere(cell: Entry, one: Protocol) -> Entry:
    """With the address of its runs on the table's own page."""
    link = f"{_file(one.key)}#{cell.link}" if cell.link else ""
    return Entry(cell.text, cell.mark, cell.alike, link, cell.why)


def _data_sets(site: Site) -> Table:
    rows = []
    for key, name in site.data.items():
        info, _ = data_card(key)
        mine = [run for run in site.collected.done if run.result.spec.data.key == key]
        methods = {run.result.spec.method.key for run in mine}
        called = info.name if info is not None else "not installed where this site was made"
        rows.append((Entry(key, link=_file(name)), Entry(called), Entry(str(len(methods))), Entry(str(len(mine)))))
    return Table("data", "", ("key", "data set", "methods", "runs"), tuple(rows), left=2)


def _sources(site: Site) -> Table:
    rows = tuple(
        (
            Entry(one.path.resolve().name),
            Entry("rows" if one.rows else "records"),
            Entry(", ".join(one.studies)),
            Entry(str(one.runs)),
        )
        for one in site.collected.sources
    )
    return Table("sources", "", ("source", "kind", "studies", "runs that no source above has"), rows, left=3)


# -------------------------------------------------------------------- a method


def _method(site: Site, key: str) -> str:
    info, facts, presets = method_card(key)
    title = f"{info.name} ({key})" if info is not None else key
    body = []
    if info is None:
        body += noted(["This method is not installed where this site was made; its records name the code that ran."])
    else:
        body.append(f"<p>{escaped(upper(info.summary))}</p>{_facts(facts)}")
    mine = [run for run in site.collected.done if run.result.spec.method.key == key]
    if any(run.result.oracle for run in mine):
        body += noted(["Oracle: this method was granted true labels. It is never best, second or ranked."])
    body += [_of_method(site, one, key) for one in site.protocols if one.rows_of(key)]
    body.append(_section("Cost", _shown(_costs(mine)), *noted([COST])))
    if presets:
        blocks = "".join(
            f"<dt>{escaped(one.name)}</dt><dd>{escaped(one.source)}<br><code>{escaped(one.values)}</code>"
            + "".join(f"<br>{escaped(data)}: <code>{escaped(values)}</code>" for data, values in one.per_data)
            + "</dd>"
            for one in presets
        )
        body.append(_section("Presets and where their values come from", f"<dl>{blocks}</dl>"))
    return _document(site, title, body)


#: What to know of seconds and memory.
COST = (
    "Seconds and memory are a method's own only where it was alone on the machine (runs at once: 1); a hyphen says "
    "that no study carried the run out. An epoch is what the method calls one."
)


def _of_method(site: Site, one: Protocol, key: str) -> str:
    """Values and places under every criterion."""
    model = one.model
    rows = []
    for row in one.rows_of(key):
        for setting in model.settings:
            for column in setting.columns:
                cells = {c: model.cells(model.measure, c)[row, column.label] for c in model.criteria}
                if not cells[model.criterion].seeds:
                    continue
                line = [Entry(column.label), Entry(row)]
                for criterion, cell in cells.items():
                    place = one.places(criterion, column).get(row)
                    rank = f"{place.rank} of {place.of}" if place is not None else "-"
                    line += [_elsewhere(entry(cell, model.measure, column), one), Entry(rank)]
                rows.append(tuple(line))
    head = ["data", "row"]
    for criterion in model.criteria:
        head += [f"by {model.criterion_name(criterion)}", "rank"]
    text = (
        f'<p><a href="{_file(one.key)}">{escaped(one.title)}</a>: {escaped(model.measure.label)}, with the rank among '
        "methods that have every seed, under each selection criterion.</p>"
    )
    return _section(one.title, text, _shown(Table(f"of-{one.key}", "", tuple(head), tuple(rows), left=2)))


def _costs(runs: Sequence[RunResult]) -> Table:
    groups: dict[tuple[str, str, str], list[RunResult]] = {}
    for run in runs:
        result = run.result
        at_once = "-" if result.at_once is None else str(result.at_once)
        groups.setdefault((result.spec.data.key, at_once, str(result.threads)), []).append(run)
    rows = []
    for (data, at_once, threads), mine in sorted(groups.items()):
        seconds = [run.result.seconds.total for run in mine]
        memory = max(run.result.peak_memory.bytes for run in mine)
        epochs = statistics.fmean(run.result.epochs for run in mine)
        values = (f"{statistics.fmean(seconds):.1f}", f"{max(seconds):.1f}", f"{epochs:.0f}", f"{memory / MIB:.0f}")
        rows.append((Entry(data), *(Entry(text) for text in (*values, at_once, threads, str(len(mine))))))
    head = ("data", "seconds, mean", "seconds, most", "epochs, mean", "peak MiB", "runs at once", "threads", "runs")
    return Table("cost", "", head, tuple(rows))


# -------------------------------------------------------------------- a data set


def _data(site: Site, key: str) -> str:
    info, facts = data_card(key)
    body = []
    if info is None:
        body += noted(["This data set is not installed where this site was made."])
    else:
        body.append(f"<p>{escaped(upper(info.summary))}</p>{_facts(facts)}")
    for one in site.protocols:
        tables = "".join(_shown(table) for table in _of_data(site, one, key))
        if tables:
            model = one.model
            text = (
                f'<p><a href="{_file(one.key)}">{escaped(one.title)}</a>: at the epoch that '
                f"{escaped(model.criterion_name(model.criterion))} chose.</p>"
            )
            body.append(_section(one.title, text, tables))
    return _document(site, f"{info.name} ({key})" if info is not None else key, body)


def _of_data(site: Site, one: Protocol, key: str) -> Iterator[Table]:
    """Methods by measures, the best first."""
    model = one.model
    grid = model.gathered.grid
    for setting in model.settings:
        for column in setting.columns:
            of = [run for row in model.rows for run in grid.cell(row, column.label).runs.values()]
            if not any(run.result.spec.data.key == key for run in of):
                continue
            ranks = one.places(model.criterion, column)
            rows = [row for row in model.rows_of(setting) if grid.cell(row, column.label).seeds]
            last = len(rows) + 1
            lines = []
            for row in sorted(rows, key=lambda row: (ranks[row].rank if row in ranks else last, row)):
                found = [_value(one, measure, row, column.label) for measure in model.measures]
                rank = Entry(f"{ranks[row].rank}" if row in ranks else "-")
                lines.append((_row(site, one, row), rank, *found))
            head = ("method", "rank", *(measure.label for measure in model.measures))
            place = setting.key + f"-{setting.columns.index(column) + 1}"
            title = column.label if column.label != key or len(model.settings) > 1 else ""
            yield Table(f"of-{one.key}-{place}", title, head, tuple(lines))


def _value(one: Protocol, measure: Measure, row: str, label: str) -> Entry:
    column = next(column for setting in one.model.settings for column in setting.columns if column.label == label)
    return _elsewhere(entry(one.model.cells(measure, one.model.criterion)[row, label], measure, column), one)


# -------------------------------------------------------------------- records, and how to add some


def _records(site: Site) -> str:
    rows = []
    for run in site.collected.published:
        result = run.result
        files = dict(site.files.get(run.run_id, ()))
        address = site.records.get(run.run_id, "")
        rows.append(
            (
                Entry(run.run_id, link=address),
                Entry(result.spec.method.key),
                Entry(result.spec.data.key),
                Entry(", ".join(site.collected.studies.get(run.run_id, {}))),
                Entry(str(result.spec.seed)),
                Entry("yes" if result.oracle else ""),
                Entry("" if run.run_id in site.collected.runs else "another one was chosen"),
                Entry("specification", link=files["spec.yaml"]) if "spec.yaml" in files else Entry(""),
                Entry("scores", link=files["scores.npz"]) if "scores.npz" in files else Entry(""),
                Entry(result.code.hash),
            )
        )
    head = ("run", "method", "data", "studies", "seed", "oracle", "draw", "specification", "scores", "code")
    sources = site.collected.sources
    folders = {"records": not all(source.rows for source in sources), "rows": any(source.rows for source in sources)}
    sums = " and ".join(
        f"<a href='{folder}/SHA256SUMS'>{folder}/SHA256SUMS</a>" for folder, there in folders.items() if there
    )
    text = (
        "<p>A run is named by the hash of what decides its scores, its code by the hash of what computed them. The "
        f"SHA-256 checksums of all files are in {sums}. Of a study that draws hyper-parameters, tables show the draw "
        "that the criterion chose on each split; the others are here.</p>"
    )
    return _document(site, "Records", [text, _shown(Table("records", "", head, tuple(rows), left=4))])


def _contribute(site: Site) -> str:
    steps = (
        ("Carry the runs out", "pubench study run conventional --results my-results -j 2", "Or any pubench run; scores "
         "are kept by default, and they are needed."),
        ("Check them", "pubench verify my-results --rerun 1", "Every specification must resolve to the id of its run, "
         "the code must be that of the released version, the stored scores must give the stored measures, and a run "
         "carried out again must give the same scores."),
        ("Look at them", "pubench site my-results --out my-site", "The page opens from disk."),
        ("Send them", "git add my-results/*/spec.yaml my-results/*/result.json my-results/*/environment.json "
         "my-results/*/scores.npz", "One folder per contributor, by pull request. A maintainer runs pubench "
         "verify on the folder, and again with a larger --rerun."),
    )  # fmt: skip
    items = "".join(
        f"<li><b>{escaped(title)}.</b> {escaped(text)}<pre>{escaped(command)}</pre></li>"
        for title, command, text in steps
    )
    text = (
        "<p>Records are folders named by their run. Anybody can make them, and anybody can check them. A method of "
        "your own is listed once its package can be installed: without it, its code cannot be compared and its runs "
        "cannot be repeated.</p>"
    )
    return _document(site, "Add your own runs", [text, f"<ol>{items}</ol>"])
