"""Does this call copy, or lend? Each answer in data/copies/ is run: `copies("frombuffer")`."""

from .shown import copies
