"""`python -m helpers.serve FOLDER [--workers 4] [--port 8000] [--memory "64 MiB"]` serves the
models in a folder.
"""

import argparse
import os
import sys
from pathlib import Path

for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    # a worker is one process on one core, and threads don't survive a fork
    os.environ.setdefault(name, "1")

from ..units import in_words, size  # noqa: E402
from .supervisor import SMALLEST_BUDGET, watch  # noqa: E402  numpy reads them when it's imported


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m helpers.serve", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--port", type=int, default=8000)
    parser.add_argument("--memory", type=size, help='what a worker may take of its own: "64 MiB"')
    parser.add_argument("--until-stdin-ends", action="store_true")
    options = parser.parse_args()
    if not options.folder.is_dir():
        parser.error(f"{options.folder} is no folder")
    if options.workers < 1:
        parser.error(f"{options.workers} workers; use at least 1")
    if not 0 <= options.port < 2**16:
        parser.error(f"port {options.port}; use one up to 65535")
    if options.memory is not None and sys.platform != "linux":
        parser.error(f"only Linux keeps a memory budget, and this is {sys.platform}")
    if options.memory is not None and options.memory < SMALLEST_BUDGET:
        parser.error(
            f"a budget of {options.memory:,} bytes; use at least "
            f"{in_words(SMALLEST_BUDGET, 'bytes')}"
        )
    until = sys.stdin.fileno() if options.until_stdin_ends else None
    watch(options.folder.resolve(), options.workers, options.port, until, options.memory)


if __name__ == "__main__":
    main()
