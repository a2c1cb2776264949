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
    "lessons.formats.copy_budget": "copy_budget",
    "lessons.formats.file_layout": "file_layout",
    "lessons.formats.fractions": "fractions",
    "lessons.hazards.allowed": "while_mapped",
    "lessons.lifetimes.exports": "exports",
    "lessons.lifetimes.owners": "owners",
    "lessons.models.experts": "experts",
    "lessons.pages.profilers": "curves_and_samples line_increments mprof_samples",
    "lessons.reading.disks": "by_read_ahead fio",
    "lessons.reading.kernel": "map_a_page shootdowns",
    "lessons.reading.quadrants": "quadrants",
    "lessons.serving.growth": "growth",
    "lessons.serving.load_chart": "load_chart watched",
    "lessons.values.crossover": "crossover",
    "measure.memory_limit": "in_memory_limit",
    "measure.pages": "PageMap",
    "measure.twins": "crate_refusal refusal",
}
MODULES = {
    "helpers.lessons.copying.lines": "helpers.show.lines",
    "helpers.lessons.copying.recorded": "helpers.lessons.copying.figures",
    "helpers.lessons.copying.sweep": "helpers.lessons.copying.figures",
    "helpers.lessons.pages.profiled": "helpers.lessons.pages.profilers",
    "helpers.lessons.reading.fio": "helpers.lessons.reading.disks",
    "helpers.lessons.reading.interrupts": "helpers.lessons.reading.kernel",
    "helpers.lessons.reading.kernel_maps": "helpers.lessons.reading.kernel",
    "helpers.lessons.reading.read_ahead": "helpers.lessons.reading.disks",
    "helpers.measure.calls_child": "helpers.lessons.dispatch.calls_child",
    "helpers.measure.film": "helpers.measure.explorer",
    "helpers.measure.crates": "helpers.measure.twins",
    "helpers.serve.arriving": "helpers.serve.uploads",
    "helpers.show.crossover": "helpers.lessons.values.crossover",
    "helpers.show.recorded": "helpers.lessons.copying.figures",
}


def names(package: str) -> Callable[[str], Any]:
    """The package's `__getattr__`."""

    def found(name: str) -> Any:
        for module, moved in NAMES.items():
            if name in moved.split():
                return getattr(import_module(f"helpers.{module}"), name)
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return found


class _Moved(MetaPathFinder, Loader):
    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        return ModuleSpec(name, self) if name in MODULES else None

    def exec_module(self, module: ModuleType) -> None:
        now = vars(import_module(MODULES[module.__name__]))
        vars(module).update({name: value for name, value in now.items() if not name.startswith("__")})


sys.meta_path.append(_Moved())
