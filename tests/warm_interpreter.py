"""Runs the console script without waiting for torch to be imported each time.

Started once per test session. Imports what every run imports, then reads one JSON request per line and forks a
process for it: that process goes on as the script itself, with its own arguments, environment, folder and output.
"""

import gc
import json
import os
import runpy
import sys
import traceback

import safetensors.torch  # noqa: F401
import scipy.special  # noqa: F401

import pubench_cli.describe
import pubench_cli.doctor
import pubench_cli.listing
import pubench_cli.run  # noqa: F401


def serve() -> dict | None:
    """In the parent: one exit code per request, until stdin ends (None). In a child: its request."""
    gc.freeze()
    for line in sys.stdin:
        child = os.fork()
        if not child:
            return json.loads(line)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
    return None


def become(request: dict) -> None:
    """Turns this process into one that was started with the request's arguments."""
    os.chdir(request["folder"])
    for number, path, mode in ((0, os.devnull, os.O_RDONLY), (1, request["out"], os.O_RDWR), (2, request["err"], 2)):
        os.dup2(os.open(path, mode), number)
    os.environ.clear()
    os.environ.update(request["env"])
    sys.argv = [request["script"], *request["arguments"]]
    sys.path[0] = os.path.dirname(request["script"])
    sys.path[1:1] = [p for p in request["env"].get("PYTHONPATH", "").split(os.pathsep) if p]


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
