"""If you have Windows: `python -m helpers.lessons.hazards.record_windows` takes seconds, measures what Windows lets you
do to a mapped file, and writes data/recorded/10-windows.json, which the lesson then shows on other systems."""

import sys

from .allowed import record

if __name__ == "__main__":
    try:
        print(f"recorded: {record()}")
    except RuntimeError as error:
        sys.exit(str(error))
