"""The files the lessons read: made from a size and a seed, the same bytes on every machine, whole or not at all.

from helpers.make import random_file
path = random_file("weights.bin", "256 MiB")

And `twin`: a Rust program that does what a lesson does, compiled and run; `refusal`: one that the compiler refuses.
"""

from .files import random_file, whole_file
from .scratch import scratch
from .twins import refusal, twin

__all__ = ["random_file", "refusal", "scratch", "twin", "whole_file"]
