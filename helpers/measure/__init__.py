"""Measure what a function costs: `measure(f, *args) -> Recording`, `compare({name: f}, *args) -> Comparison`."""

from .machine import Machine, here
from .recording import IO, METERS, Comparison, Faults, Peak, Recording, Switches
from .run import compare, measure

__all__ = [
    "IO",
    "METERS",
    "Comparison",
    "Faults",
    "Machine",
    "Peak",
    "Recording",
    "Switches",
    "compare",
    "here",
    "measure",
]
