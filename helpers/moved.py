"""Names that have moved. A student's own copy of a lesson may still import them from where they were."""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

NAMES = {  # that lessons imported from `measure` and `show`, by the module that has them
    "lessons.copying.figures": "recorded_table sweep",
    "lessons.dispatch.calls": "call_costs mix_costs",
    "lessons.forking.overlay": "on_overlay",
    "lessons.formats.copy_budget": "copy_budget fractions",
    "lessons.formats.file_layout": "file_layout",
    "lessons.hazards.allowed": "while_mapped",
    "lessons.lifetimes.owners": "exports owners",
    "lessons.pages.profilers": "curves_and_samples line_increments mprof_samples",
    "lessons.reading.disks": "by_read_ahead fio",
    "lessons.reading.kernel": "map_a_page shootdowns",
    "lessons.reading.quadrants": "quadrants",
    "lessons.serving.load": "growth load_chart watched",
    "lessons.values.crossover": "crossover",
    "measure.environment": "in_memory_limit on_small_disk",
    "measure.pages": "PageMap",
    "measure.twins": "crate_refusal refusal",
}
_OLD = {  # modules, by the module that has their names now
    "lessons.copying.figures": "lessons.copying.recorded lessons.copying.sweep show.recorded",
    "lessons.dispatch.calls_child": "measure.calls_child",
    "lessons.formats.copy_budget": "lessons.formats.fractions",
    "lessons.lifetimes.owners": "lessons.lifetimes.exports",
    "lessons.pages.profilers": "lessons.pages.profiled",
    "lessons.reading.disks": "lessons.reading.fio lessons.reading.read_ahead",
    "lessons.reading.kernel": "lessons.reading.interrupts lessons.reading.kernel_maps",
    "lessons.serving.load": "lessons.serving.growth lessons.serving.load_chart",
    "lessons.values.crossover": "show.crossover",
    "measure.environment": "measure.memory_limit",
    "measure.explorer": "measure.film",
    "measure.twins": "measure.crates",
    "serve.uploads": "serve.arriving",
    "show.lines": "lessons.copying.lines",
}
_PACKAGE = __name__.rpartition(".")[0]  # in the wheel it has another name
MODULES = {f"{_PACKAGE}.{old}": f"{_PACKAGE}.{new}" for new, olds in _OLD.items() for old in olds.split()}


def names(package: str) -> Callable[[str], Any]:
    """The package's `__getattr__`."""

    def found(name: str) -> Any:
        for module, moved in NAMES.items():
            if name in moved.split():
                return getattr(import_module(f"{_PACKAGE}.{module}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found


class _Moved(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        now = vars(import_module(MODULES[module.__name__]))
        vars(module).update({name: value for name, value in now.items() if not name.startswith("__")})


sys.meta_path.append(_Moved())
