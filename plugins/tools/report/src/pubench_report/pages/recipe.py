"""The command and the Python call that carry a run out again, from its recorded spec.

Both name everything that decides the scores and is not what the installed plugins would take anyway: hyper-parameters
that the preset gives, and classes and preprocessing that the data set has by itself, are left out.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pubench_core.data.table_files import in_memory
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.results import Result
from pubench_core.specs import DataSpec, RunSpec, SelectionSpec, UserTableSpec

#: One encoder for all: json.dumps makes one for every call.
_as_json = json.JSONEncoder(separators=(",", ":")).encode
#: Stands for the seed in what the runs of a cell have in common.
SEED = "\N{SYMBOL FOR SUBSTITUTE}"


@dataclass(frozen=True)
class Recipe:
    """``command`` for a shell, ``python`` for a session, both with a sign in the place of the seed. ``first``: what
    must be done before; empty where nothing must.
    """

    command: str
    python: str
    first: str = ""

    def of_seed(self, seed: int) -> Recipe:
        """With the seed in its place."""
        return replace(self, command=self.command.replace(SEED, str(seed)), python=self.python.replace(SEED, str(seed)))


@dataclass
class Known:
    """What installed plugins take by themselves, looked up once."""

    methods: Mapping[str, MethodInfo] = field(
        default_factory=lambda: {info.key: info for info in registry().infos(MethodInfo)}
    )
    data: Mapping[str, DatasetInfo] = field(
        default_factory=lambda: {info.key: info for info in registry().infos(DatasetInfo)}
    )
    mechanisms: Mapping[str, MechanismInfo] = field(
        default_factory=lambda: {info.key: info for info in registry().infos(MechanismInfo)}
    )


def recipe(result: Result, known: Known) -> Recipe:
    """Of a recorded run. Threads and a CPU are named, as they can decide the last digits."""
    spec = result.spec
    config, settings = _config(spec, known), _settings(spec, known)
    device = "cpu" if result.device.startswith("cpu") else None
    return Recipe(
        _command(spec, config, settings, result.threads, device),
        _python(spec, config, settings, result.threads, device),
        _first(spec),
    )


def _first(spec: RunSpec) -> str:
    own = spec.data.own
    if own is None or not any(path is not None and in_memory(path) for path in (own.path, own.test)):
        return ""
    saved = _saved(own.path) if in_memory(own.path) else Path(own.path.name).with_suffix(".parquet")
    return f"The table was in memory: table.save({str(saved)!r}) writes what is read here."


def _saved(path: Path) -> Path:
    """Where a table in memory is once it is saved; a file stays where it is."""
    return Path(f"{path.name}.parquet") if in_memory(path) else path


def _saved_test(own: UserTableSpec) -> Path | None:
    """As ``PUTable.save`` names it."""
    if own.test is None or not in_memory(own.test):
        return own.test
    return Path(f"{_saved(own.path).stem}-test.parquet")


def _config(spec: RunSpec, known: Known) -> dict[str, Any]:
    """Hyper-parameters that the preset does not give."""
    info, preset = known.methods.get(spec.method.key), spec.method.preset
    known_preset = info.presets.get(preset) if info is not None and preset is not None else None
    given = known_preset.resolve(spec.data.key) if known_preset is not None else {}
    return {name: v for name, v in spec.method.config.items() if name not in given or given[name] != v}


def _settings(spec: RunSpec, known: Known) -> dict[str, Any]:
    """Fields that have no flag of their own and are not as the data set or mechanism has them."""
    info = known.data.get(spec.data.key)
    found: dict[str, Any] = {}
    if spec.data.own is None:
        if spec.data.binarization is None and (info is None or not _same_classes(spec.data, info)):
            found["data.positive"], found["data.negative"] = list(spec.data.positive), list(spec.data.negative)
        if info is None or info.preprocess != spec.data.preprocess:
            found["data.preprocess"] = spec.data.preprocess
    if spec.data.test != DataSpec.model_fields["test"].default:
        found["data.test"] = spec.data.test
    if spec.data.test_fraction != DataSpec.model_fields["test_fraction"].default:
        found["data.test_fraction"] = spec.data.test_fraction
    mechanism = known.mechanisms.get(spec.mechanism.key)
    if spec.mechanism.amount is not None and (mechanism is None or mechanism.variants[0] != spec.mechanism.variant):
        found["mechanism.variant"] = spec.mechanism.variant
    if spec.method.calibrate != "auto":
        found["method.calibrate"] = spec.method.calibrate
    if spec.prior_scorer != RunSpec.model_fields["prior_scorer"].default:
        found["prior_scorer"] = spec.prior_scorer
    if spec.selection.non_finite != SelectionSpec.model_fields["non_finite"].default:
        found["selection.non_finite"] = spec.selection.non_finite
    return found


def _same_classes(data: DataSpec, info: DatasetInfo) -> bool:
    return (tuple(sorted(info.positive)), tuple(sorted(info.negative))) == (data.positive, data.negative)


def _command(
    spec: RunSpec, config: Mapping[str, Any], settings: Mapping[str, Any], threads: int, device: str | None
) -> str:
    words: list[str] = ["pubench", "run", "--method", spec.method.key]
    if spec.method.preset:
        words += ["--preset", spec.method.preset]
    own = spec.data.own
    words += ["--data", spec.data.key if own is None else str(_saved(own.path))]
    if own is not None:
        words += ["--label-col", own.label_col]
        flags = {"--truth-col": own.truth_col, "--test": _saved_test(own)}
        words += [word for flag, value in flags.items() if value for word in (flag, str(value))]
        for name in ("drop", "features", "positive_value"):
            words += _listed(name, getattr(own, name))
    if spec.data.binarization is not None:
        words += ["--binarization", spec.data.binarization]
    if (amount := spec.mechanism.amount) is not None:
        words += ["--mech", spec.mechanism.key, f"--{amount[0].replace('_', '-')}", f"{amount[1]!r}"]
    if spec.data.total is not None:
        words += ["--total", str(spec.data.total)]
    words += ["--scheme", spec.data.scheme]
    if spec.prior != "true":
        words += ["--prior", str(spec.prior)]
    words += ["--backbone", spec.backbone.key, "--select", spec.selection.criterion]
    for name, value in {"validation.fraction": spec.validation.fraction, **settings, **config}.items():
        words += ["--set", f"{name}={_yaml(value)}"]
    words += ["--threads", str(threads), *(["--device", device] if device else [])]
    return f"{shlex.join(words)} --seed {SEED}"


def _listed(name: str, texts: Sequence[str]) -> list[str]:
    """A flag with texts between commas; where a text has one itself, the field as a list."""
    if not texts:
        return []
    if any("," in text or text != text.strip() for text in texts):
        return ["--set", f"data.own.{name}={_as_json(list(texts))}"]
    return [f"--{name.replace('_', '-')}", ",".join(texts)]


def _yaml(value: Any) -> str:
    return value if isinstance(value, str) else _as_json(value)


def _python(
    spec: RunSpec, config: Mapping[str, Any], settings: Mapping[str, Any], threads: int, device: str | None
) -> str:
    own = spec.data.own
    data = repr(spec.data.key) if own is None else _table(spec)
    given: dict[str, Any] = {
        "preset": spec.method.preset,
        "binarization": spec.data.binarization,
        "mechanism": spec.mechanism.key if spec.mechanism.amount is not None else None,
        "c": spec.mechanism.c,
        "positive_rate": spec.mechanism.positive_rate,
        "total": spec.data.total,
        "scheme": spec.data.scheme if own is None else None,
        "prior": spec.prior if spec.prior != "true" else None,
        "backbone": spec.backbone.key,
        "validation": spec.validation.fraction,
        "criterion": spec.selection.criterion,
        "config": dict(config) or None,
        "settings": dict(settings) or None,
        "threads": threads,
        "device": device,
    }
    named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return f"pubench.run({', '.join([repr(spec.method.key), data, *named])}, seed={SEED})"


def _table(spec: RunSpec) -> str:
    own = spec.data.own
    assert own is not None
    given = {
        "labeled": own.label_col,
        "truth": own.truth_col,
        "test": None if own.test is None else str(_saved_test(own)),
        "positive_value": list(own.positive_value) or None,
        "drop": list(own.drop) or None,
        "features": list(own.features) or None,
        "scheme": spec.data.scheme,
    }
    named = [f"{name}={value!r}" for name, value in given.items() if value is not None]
    return f"pubench.data({', '.join([repr(str(_saved(own.path))), *named])})"
