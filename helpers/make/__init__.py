"""The files the lessons read: made from a size and a seed, the same bytes on every machine, whole or not at all.

from helpers.make import random_file
path = random_file("weights.bin", "256 MiB")
"""

from .files import random_file, whole_file
from .scratch import scratch

__all__ = ["random_file", "scratch", "whole_file"]
