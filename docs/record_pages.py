"""mkdocs hook: the page of ``result.json``, made from the models that write and read it when the site is built."""

from __future__ import annotations

import types
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pubench_core.results import RECORD_VERSION, Environment, Failure, Result

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

INTRODUCTION = f"""# Fields of a record

The content of `result.json`, format {RECORD_VERSION}, field by field; then that of `failure.json` and
`environment.json`. A field is left out of the file where it is at its default. The models are
`pubench_core.results.Result`, `Failure` and `Environment`; `pubench_core.records.store.read_record(folder)` gives a
record as a typed object.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``record-fields.md``."""
    from mkdocs.structure.files import File

    files.append(File.generated(config, "record-fields.md", content=page()))
    return files


def page() -> str:
    """Every model with its fields, the inner ones after the one that holds them."""
    return INTRODUCTION + "\n".join(_section(model) for model in models(Result, Failure, Environment))


def models(*outer: type[BaseModel]) -> list[type[BaseModel]]:
    """The models and all that their fields hold, each once, those of specs apart."""
    found: list[type[BaseModel]] = []
    for model in outer:
        if model in found or not model.__module__.startswith("pubench_core.results"):
            continue
        found.append(model)
        for field in model.model_fields.values():
            found += [inner for inner in models(*_inner(field.annotation)) if inner not in found]
    return found


def _inner(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _inner(argument)]


def _section(model: type[BaseModel]) -> str:
    about = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    rows = [
        f"| `{name}` | {_words(field.annotation)} | {_default(field)} | {field.description or ''} |"
        for name, field in model.model_fields.items()
    ]
    head = f"## {model.__name__}\n\n{about}\n\n| field | type | default | meaning |\n|---|---|---|---|\n"
    return head + "\n".join(rows) + "\n"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "always there"
    value = field.get_default(call_default_factory=True)
    return "none" if value in (None, "", (), {}) else f"`{value}`"


def _words(annotation: Any) -> str:
    """A type in words: ``list of number``, ``mapping of text to Measure``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return _words(next(a for a in arguments if a is not type(None)))
    if origin is tuple:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        return f"mapping of {_words(arguments[0])} to {_words(arguments[1])}"
    if arguments:
        return ", ".join(str(value) for value in arguments)
    if annotation is Any:
        return "anything"
    plain = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if annotation in plain:
        return plain[annotation]
    name = annotation.__name__
    return f"[{name}](#{name.lower()})" if annotation.__module__.startswith("pubench_core.results") else f"`{name}`"
