"""Measure what a function costs: `measure(f, *args) -> Recording`, `compare({name: f}, *args) ->
Comparison`.
"""

from . import describers
from .abilities import abilities
from .advice import advise
from .cache import drop_from_cache, page_cache
from .environment import in_memory_limit, on_small_disk
from .explorer import Explorer, Film
from .holders import who_holds
from .load import Load
from .machine import Machine, NotMeasuredHere, here
from .maps import regions
from .marks import mark
from .pages import PageMap, PageState, page_map
from .recording import Comparison, Recording
from .run import compare, measure, together
from .sharing import Sharing
from .twins import crate, twin
from .whereabouts import where
from .workers import workers
