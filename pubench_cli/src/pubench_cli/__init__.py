"""The command line of pubench."""

import sys

if sys.platform == "win32":
    sys.exit("error: pubench runs on Linux and macOS, this is Windows; use it in WSL (Windows Subsystem for Linux)")
