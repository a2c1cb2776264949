"""For whoever has Windows: `python -m helpers.measure.record_windows` measures what it allows to be done to a mapped
file, in seconds, and writes data/recorded/10-windows.json, which the lesson then shows on other systems."""

import sys

from .allowed import record

if __name__ == "__main__":
    try:
        print(f"recorded: {record()}")
    except RuntimeError as error:
        sys.exit(str(error))
