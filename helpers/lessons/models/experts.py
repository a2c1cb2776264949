"""The share of a model's experts that has been needed, by the number of tokens."""

from collections.abc import Mapping, Sequence

from ...show.figure import Picture
from ...show.lines import lines


def experts(shares: Mapping[str, Sequence[float]], caption: str = "") -> Picture:
    """A line for each router: by tokens, the share of all experts, 0 to 1, that was needed so far. ValueError as
    `lines`."""
    by_tokens = {router: dict(enumerate(line, 1)) for router, line in shares.items()}
    return lines("tokens", by_tokens, "share", "share of the experts needed so far", caption=caption)
