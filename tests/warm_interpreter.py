"""Runs the console script without waiting for torch to be imported each time.

Started once per test session. Imports what every run imports, then reads one JSON request per line and forks a
process for it: that process goes on as the script itself, with its own arguments, environment, folder and output. A
request with several pairs of files is carried out by as many processes side by side.
"""

import contextlib
import gc
import importlib
import json
import os
import runpy
import sys
import traceback

import safetensors.torch  # noqa: F401
import scipy.special  # noqa: F401

import pubench.method  # noqa: F401
import pubench_cli.data_app
import pubench_cli.describe
import pubench_cli.doctor
import pubench_cli.listing
import pubench_cli.main
import pubench_cli.run  # noqa: F401
from pubench_core.plugins.registry import installed


def serve() -> dict | None:
    """In the parent: the exit codes of every request, until stdin ends (None). In a child: its request."""
    for point in installed()[0]:
        point.load()
    gc.freeze()
    for line in sys.stdin:
        request = json.loads(line)
        if is_tracked(request["arguments"]) and "mlflow" not in sys.modules:
            with contextlib.suppress(ImportError):
                importlib.import_module("pubench_mlflow.sink")
            gc.freeze()
        children = []
        for out, err in request["files"]:
            child = os.fork()
            if not child:
                return {**request, "out": out, "err": err}
            children.append(child)
        print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]), flush=True)
    return None


def is_tracked(words: list[str]) -> bool:
    """Whether a command may send a run to MLflow, which takes seconds to import."""
    return words[:1] == ["track"] or (words[:1] == ["run"] and not {"--no-tracking", "--dry-run"} & set(words))


def become(request: dict) -> None:
    """Turns this process into one that was started with the request's arguments."""
    os.chdir(request["folder"])
    for number, path, mode in ((0, os.devnull, os.O_RDONLY), (1, request["out"], os.O_RDWR), (2, request["err"], 2)):
        os.dup2(os.open(path, mode), number)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [request["script"], *request["arguments"]]
    sys.path[0] = os.path.dirname(request["script"])
    places = [p for p in request["env"].get("PYTHONPATH", "").split(os.pathsep) if p]
    sys.path[1:1] = places
    for name in list(sys.modules):  # what the request has a version of its own of is not what was imported here
        if any(os.path.exists(os.path.join(place, name.partition(".")[0])) for place in places):
            del sys.modules[name]


def run_script(path: str) -> int:
    """Exit code of the script, as the interpreter would give it."""
    try:
        runpy.run_path(path, run_name="__main__")
    except SystemExit as stop:
        return int(stop.code or 0)
    except BaseException:  # noqa: BLE001 (what an interpreter does with whatever a script raises)
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    request = serve()
    if request is not None:
        become(request)
        code = run_script(request["script"])
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # without tearing down what was imported before
