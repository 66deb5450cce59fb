"""mkdocs hook: the pages of a run's and a record's fields, made from the models that read and write them."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from page_parts import add_pages, markdown_of, table
from pubench_study.plan import FrozenPlan
from pubench_study.spec import StudySpec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pubench_core.results import RECORD_VERSION, Environment, Failure, Result
from pubench_core.specs import RunSpec
from pubench_core.specs.config import TrainingConfig
from pubench_core.specs.fields import about

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

SCHEMA = Path(__file__).parent / "pages" / "result.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
RUN = """# Fields of a run

The YAML that `--dry-run` prints and `--config` reads, and what `--set` names with dots
(`--set validation.fraction=0.1`). A field marked *not in the id* changes no trained score and is left out of the
[run id](records.md#what-a-run-is). *Resolved* means that the value comes from what was asked for and from the plugins:
the classes from the data set, the criteria from the metrics. The model is `pubench_core.specs.RunSpec`; `method.config`
holds the hyper-parameters of the method, which [its page](methods/index.md) lists, those of `TrainingConfig` for every
method that trains a network.

"""

RECORD = f"""# Fields of a record

The content of `result.json`, format {RECORD_VERSION}, field by field; then that of `failure.json` and
`environment.json`. A field is left out of the file where it is at its default. The models are
`pubench_core.results.Result`, `Failure` and `Environment`; `pubench_core.records.record.read_record(folder)` gives a
record as a typed object.

"""

STUDY = """# Fields of a study

What a study file may hold ([Studies](studies.md) says what for), then the content of its frozen plan, `plan.json`. The
models are `pubench_study.spec.StudySpec` and `pubench_study.plan.FrozenPlan`.

"""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``record-fields.md``, ``run-fields.md`` and ``study-fields.md``."""
    add_pages(files, config, {"record-fields.md": page(), "run-fields.md": run_page(), "study-fields.md": study_page()})
    return files


def schema() -> str:
    """The JSON Schema of ``result.json``: ``python docs/record_pages.py`` writes it."""
    return json.dumps({"$schema": DIALECT, **Result.model_json_schema()}, indent=1, sort_keys=True) + "\n"


def page() -> str:
    """Every model of a record with its fields, the inner ones after the one that holds them."""
    return RECORD + "\n".join(_section(model) for model in models(Result, Failure, Environment))


def run_page() -> str:
    """Every section of a run, and what every method that trains a network can be told."""
    return RUN + "\n".join(_section(model) for model in (*models(RunSpec), TrainingConfig))


def study_page() -> str:
    """A study file, its parts, and the plan that is made of it."""
    return STUDY + "\n".join(_section(model) for model in models(StudySpec, FrozenPlan))


def models(*outer: type[BaseModel]) -> list[type[BaseModel]]:
    """The models and all that their fields hold, each once, as far as they belong to the outer ones' package."""
    found: list[type[BaseModel]] = []
    packages = tuple(".".join(model.__module__.split(".")[:2]) for model in outer)
    for model in outer:
        if model in found:
            continue
        found.append(model)
        for field in model.model_fields.values():
            inner = [each for each in _inner(field.annotation) if each.__module__.startswith(packages)]
            found += [each for each in models(*inner) if each not in found]
    return found


def _inner(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _inner(argument)]


def _section(model: type[BaseModel]) -> str:
    said = " ".join(markdown_of((model.__doc__ or "").split("\n\n")[0]).split())
    rows = [
        (f"`{name}`", _words(field.annotation), _default(field, model), _meaning(field))
        for name, field in model.model_fields.items()
    ]
    return f"## {model.__name__}\n\n{said}\n\n{table(('field', 'type', 'default', 'meaning'), rows)}\n"


def _meaning(field: FieldInfo) -> str:
    return (field.description or "") + ("" if about(field, "identifies", True) else " (*not in the id*)")


def _default(field: FieldInfo, model: type[BaseModel]) -> str:
    if field.is_required():
        return {"run": "resolved", "study": "to be given", "record": "always there"}[_page_of(model)]
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "its defaults"
    return "none" if value in (None, "", (), {}) else f"`{value}`"


def _page_of(model: type[BaseModel]) -> str:
    """Which of the pages has a model."""
    if model.__module__.startswith("pubench_core.specs"):
        return "run"
    return "study" if model.__module__.startswith("pubench_study") else "record"


def _words(annotation: Any) -> str:
    """A type in words: ``list of number``, ``mapping of text to Measure``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(a) for a in arguments if a is not type(None))
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
    if not issubclass(annotation, BaseModel):
        return f"`{name}`"
    return f"[{name}]({_page_of(annotation)}-fields.md#{name.lower()})"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
