"""If you have Windows: `python -m helpers.lessons.hazards.record_windows` takes seconds, measures what Windows lets you
do to a mapped file, and writes data/recorded/10-windows.json, which the lesson then shows on other systems."""

import json
import sys

from ...folders import write_whole
from .allowed import RECORDED, while_mapped

if __name__ == "__main__":
    if sys.platform != "win32":
        sys.exit(f"this records what Windows does, and this is {sys.platform}")
    write_whole(RECORDED, json.dumps(while_mapped().to_json(), indent=1) + "\n")
    print(f"recorded: {RECORDED}")
