"""Measure what a function costs: `measure(f, *args) -> Recording`, `compare({name: f}, *args) -> Comparison`."""

from .abilities import Abilities, abilities
from .cache import PageCache, page_cache
from .machine import Machine, here
from .recording import IO, METERS, Comparison, Faults, Peak, Recording, Switches
from .run import compare, measure
from .tables import html_table, text_table

__all__ = [
    "IO",
    "METERS",
    "Abilities",
    "Comparison",
    "Faults",
    "Machine",
    "PageCache",
    "Peak",
    "Recording",
    "Switches",
    "abilities",
    "compare",
    "here",
    "html_table",
    "measure",
    "page_cache",
    "text_table",
]
