"""Measure what a function costs: `measure(f, *args) -> Recording`, `compare({name: f}, *args) -> Comparison`."""

from .abilities import Abilities, abilities
from .advice import advise, page_out, prefault
from .allowed import Allowed, Attempt, while_mapped
from .cache import PageCache, drop_from_cache, page_cache
from .calls import call_costs
from .explorer import Explorer
from .exports import exports
from .film import Film, Step
from .holders import Chain, Holding, who_holds
from .machine import Machine, NotMeasuredHere, here
from .maps import Region, region_at, regions
from .memory_limit import in_memory_limit
from .pages import PageMap, PageState, page_map
from .recording import IO, METERS, Comparison, Faults, Peak, Recording, Switches
from .run import compare, measure
from .sharing import Shares, Sharing, sharing
from .small_disk import on_small_disk
from .tables import html_table, text_table
from .whereabouts import Whereabouts, where
from .workers import workers

__all__ = [
    "IO",
    "METERS",
    "Abilities",
    "Allowed",
    "Attempt",
    "Chain",
    "Comparison",
    "Explorer",
    "Faults",
    "Film",
    "Holding",
    "Machine",
    "NotMeasuredHere",
    "PageCache",
    "PageMap",
    "PageState",
    "Peak",
    "Recording",
    "Region",
    "Shares",
    "Sharing",
    "Step",
    "Switches",
    "Whereabouts",
    "abilities",
    "advise",
    "call_costs",
    "compare",
    "drop_from_cache",
    "exports",
    "here",
    "html_table",
    "in_memory_limit",
    "measure",
    "on_small_disk",
    "page_cache",
    "page_map",
    "page_out",
    "prefault",
    "region_at",
    "regions",
    "sharing",
    "text_table",
    "where",
    "while_mapped",
    "who_holds",
    "workers",
]
