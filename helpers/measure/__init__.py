"""Measure what a function costs: `measure(f, *args) -> Recording`, `compare({name: f}, *args) -> Comparison`."""

from .abilities import abilities
from .advice import advise, page_out
from .allowed import while_mapped
from .cache import PageCache, drop_from_cache, page_cache
from .calls import call_costs, mix_costs
from .explorer import Explorer
from .exports import exports
from .film import Film
from .fio import fio
from .growth import growth
from .holders import who_holds
from .interrupts import shootdowns
from .kernel_maps import map_a_page
from .load import Load
from .machine import Machine, NotMeasuredHere, here
from .maps import regions
from .memory_limit import in_memory_limit, own_limit
from .overlay import on_overlay
from .pages import PageMap, PageState, page_map
from .profilers import line_increments, mprof_samples
from .read_ahead import by_read_ahead
from .recording import Comparison, Recording
from .run import compare, measure
from .sharing import Sharing, sharing
from .small_disk import on_small_disk
from .together import together
from .twins import crate, crate_refusal, refusal, twin
from .whereabouts import where
from .workers import workers

__all__ = [
    "Comparison",
    "Explorer",
    "Film",
    "Load",
    "Machine",
    "NotMeasuredHere",
    "PageCache",
    "PageMap",
    "PageState",
    "Recording",
    "Sharing",
    "abilities",
    "advise",
    "by_read_ahead",
    "call_costs",
    "compare",
    "crate",
    "crate_refusal",
    "drop_from_cache",
    "exports",
    "fio",
    "growth",
    "here",
    "in_memory_limit",
    "line_increments",
    "map_a_page",
    "measure",
    "mix_costs",
    "mprof_samples",
    "on_overlay",
    "on_small_disk",
    "own_limit",
    "page_cache",
    "page_map",
    "page_out",
    "refusal",
    "regions",
    "sharing",
    "shootdowns",
    "together",
    "twin",
    "where",
    "while_mapped",
    "who_holds",
    "workers",
]
