"""Checks the subjects of a pull request's commits: at most 72 characters each.

python .ci/subjects.py BASE [HEAD]
"""

from __future__ import annotations

import subprocess
import sys

LONGEST = 72


def main(base: str, head: str = "HEAD") -> int:
    """Prints subjects that are too long. Returns the exit code."""
    command = ["git", "log", "--no-merges", "--format=%s", f"{base}..{head}"]
    subjects = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    long = [subject for subject in subjects if len(subject) > LONGEST]
    for subject in long:
        print(f"{len(subject)} characters, at most {LONGEST} are allowed: {subject}")
    return bool(long)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
