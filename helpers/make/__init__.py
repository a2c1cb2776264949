"""The files that the lessons read: made from a size and a seed, byte for byte the same on every
machine.

from helpers.make import random_file
path = random_file("weights.bin", "256 MiB")

`tensor_file`, `sharded_model`: weights in the safetensors format; `damaged`: small files that each
break one rule. `records`, `dna`: data to parse and to index. `digits`: real pictures; DIGITS: a
small model that reads them; `digit_model`: the same, larger, and with other answers.
"""

from ..folders import scratch
from ..safe_files import whole_file
from .damaged import DAMAGES, damaged
from .digits import DIGITS, digit_model, digits
from .files import dna, random_file
from .records import record, records
from .tensors import sharded_model, tensor_file
