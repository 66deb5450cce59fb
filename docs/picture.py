"""Draws a run's result table as the README's picture.

pubench run --method nnpu --data digits --mech scar --c 0.1
python docs/picture.py results/RUN docs/pages/images/result.svg
"""

from __future__ import annotations

import sys
from pathlib import Path

from rich.console import Console

from pubench_cli import console, results
from pubench_core.plugins.registry import registry
from pubench_core.records.record import read_record

#: A terminal window without rich's web font: the viewer's own monospace font is used.
FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xml:space="preserve"
 xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace;
  font-size: {char_height}px; line-height: {line_height}px; }}
{styles}
</style>
<defs><clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" /></clipPath>{lines}</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}<g class="{unique_id}-matrix">{matrix}</g></g>
</svg>"""


def main() -> None:
    record, target = read_record(Path(sys.argv[1])), Path(sys.argv[2])
    recording = Console(record=True, width=118, force_terminal=True, highlight=False)
    console.out.cache_clear()
    results.out = lambda: recording  # type: ignore[assignment]
    result, spec = record.result, record.result.spec
    words = f"--method {spec.method.key} --data {spec.data.key} --mech {spec.mechanism.key}"
    words += f" --c {spec.mechanism.c:g}"
    recording.print(f"$ pubench run {words}", style="dim")
    results.print_result(result, Path("results", record.folder.name), registry())
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(recording.export_svg(title="pubench run", code_format=FRAME, unique_id="pubench"))


if __name__ == "__main__":
    main()
