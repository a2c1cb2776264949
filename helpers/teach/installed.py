"""Which modules code imports, and which of them come with Python, its packages or these lessons. Imports none."""

import dis
import site
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import CodeType

HELPERS = Path(__file__).parents[1]


def imported(code: CodeType) -> Iterator[str]:
    """The modules that code imports, and names that may be modules in them: `a`, `a.b` for `from a import b`."""
    module = ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            module = step.argval
            yield module
        elif step.opname == "IMPORT_FROM":
            yield f"{module}.{step.argval}"


def is_installed(name: str) -> bool:
    """Does this module come with Python, its packages or these lessons? Answers without importing anything."""
    path, parts = None, name.split(".")
    for end in range(1, len(parts) + 1):
        found = _spec(".".join(parts[:end]), path)
        if found is None or (end == 1 and not _lies_with_python(found)):
            return False
        path = found.submodule_search_locations
        if path is None and end < len(parts):
            return False
    return True


def _spec(name: str, path: Sequence[str] | None) -> ModuleSpec | None:
    """What an import in a fresh process would find, unlike find_spec(), which looks at what is imported here."""
    with suppress(Exception):
        finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
        return next(filter(None, (finder.find_spec(name, path) for finder in finders)), None)
    return None


def _lies_with_python(found: ModuleSpec) -> bool:
    folders = [found.origin] if found.has_location else list(found.submodule_search_locations or ())
    return all(any(Path(folder).resolve().is_relative_to(place) for place in _with_python()) for folder in folders)


@cache
def _with_python() -> list[Path]:
    paths = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    return [Path(path).resolve() for path in (*paths, *site.getsitepackages(), site.getusersitepackages(), HELPERS)]
