"""Opens pages of the built documentation in the system's Chromium, at two widths, light and dark; says what is wrong.

    .venv/bin/python docs/check_pages.py docs/site

Checked are contrast, width, requests, errors of scripts and the path of the Tab key of the leaderboard's kinds of
pages, and the width of all others in the narrow window, as in the tests (``tests/doubles/browser.py``). `make docs`
ends with it. Without a browser nothing is checked, which one line says.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "doubles"))
from browser import absent, close, faults_of_board, faults_of_documents

if __name__ == "__main__":
    if why := absent():
        sys.exit(print(f"pages are not checked in a browser: {why}"))
    site = Path(sys.argv[1])
    found = [*faults_of_board(site / "leaderboard"), *faults_of_documents(site)]
    close()
    sys.exit("\n".join(found) or print("no page has a fault in Chromium, at 1,280 and 390 pixels, light and dark"))
