"""HTML from the templates of this package: one style, one set of charts, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, partial
from importlib.resources import files
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader
from markupsafe import Markup

from pubench_core.errors import visible

from ..ranking import duration, percent, points

HERE = __package__ or ""
#: Width of the strip of dots, its margins, and the points that it spans; ``charts.js`` has the same.
STRIP, MARGIN, SPAN = 110, 6, 26.0


def rendered(
    template: str, title: str, scripts: Sequence[str] = ("page.js",), package: str = HERE, **given: Any
) -> str:
    """A whole page. ``scripts``: run in it, after ``charts.js``; ``package``: whose templates and scripts these are."""
    script = _narrow(asset("charts.js") + "".join(asset(name, package) for name in scripts))
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src 'sha256-{digest}'"
    given |= {"title": title, "policy": Markup(policy), "style": Markup(asset("style.css")), "script": Markup(script)}
    text = _environment(package).get_template(template).render(given)
    return text.encode("latin-1", "xmlcharrefreplace").decode("latin-1")


def _narrow(text: str) -> str:
    """Script or JSON of Latin-1 alone, without control characters: any other makes browsers keep two bytes for each."""
    return re.sub(r"[^\x00-\x7e\xa0-\xff]", lambda found: json.dumps(found[0])[1:-1], text)


def fragment(template: str, **given: Any) -> str:
    """A part of a page for a notebook, or a text that is no page."""
    return _environment(HERE).get_template(template).render(**given)


#: JSON without spaces.
compact = partial(json.dumps, separators=(",", ":"), ensure_ascii=False)


def script_json(data: Mapping[str, Any]) -> Markup:
    """JSON that can stand between ``<script>`` tags."""
    text = _narrow(compact(data))
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))


@cache
def asset(name: str, package: str = HERE) -> str:
    """A file of the templates' folder of a package."""
    return (files(package) / "templates" / name).read_text(encoding="utf-8")


@cache
def _environment(package: str) -> Environment:
    environment = Environment(
        loader=ChoiceLoader([PackageLoader(package), PackageLoader(HERE)]),
        autoescape=lambda name: str(name).endswith(".html.j2"), trim_blocks=True, lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )  # fmt: skip
    environment.filters["script_json"] = script_json
    environment.globals |= {
        "strip": {"width": STRIP},
        "x": lambda value: round(MARGIN + min(max(value, 0.0), SPAN) / SPAN * (STRIP - 2 * MARGIN), 1),
        "percent": percent,
        "points": points,
        "duration": duration,
    }
    return environment
