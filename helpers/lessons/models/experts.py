"""The share of a model's experts that has been needed, by the number of tokens: a line for each router."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from ...show.figure import MARKS, PAGE, Picture, legend, look, picture


def experts(shares: Mapping[str, Sequence[float]], caption: str = "") -> Picture:
    """`shares`: router -> the share of all experts, 0 to 1, that was needed after 1 token, after 2, and so on.

    Each doubling of the tokens has the same width. The alternative text gives the shares at powers of two.
    ValueError unless there are 1 to 4 routers, each with as many tokens (two or more), and shares from 0 to 1.
    """
    counts = sorted({len(line) for line in shares.values()})
    if len(counts) != 1 or counts[0] < 2 or len(shares) > len(MARKS):
        raise ValueError(
            f"{len(shares)} routers, with {counts} tokens: take 1 to {len(MARKS)}, each with as many tokens, 2 or more"
        )
    if wrong := [share for line in shares.values() for share in line if not 0 <= share <= 1]:
        raise ValueError(f"a share of {wrong[0]}; it should be from 0 to 1")
    doubled = [2**power for power in range(counts[0].bit_length())]
    with look():
        fig = Figure(figsize=(PAGE, 3))
        ax = fig.add_axes((0.075, 0.155, 0.905, 0.66))
        ax.set(xscale="log", ylim=(0, 1.04), title="share of the experts needed so far", xlabel="tokens")
        ax.set_xticks(doubled, [f"{tokens:,}" for tokens in doubled])
        ax.set_xticks([], minor=True)
        ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
        keys, told = [], []
        for (router, line), (marker, color, _) in zip(shares.items(), MARKS, strict=False):
            at = {tokens: line[tokens - 1] for tokens in doubled}
            ax.plot(range(1, len(line) + 1), line, color=color, linewidth=1.3)
            ax.plot(at.keys(), at.values(), marker, color=color, markersize=5, clip_on=False)
            keys.append(Line2D([], [], label=router, color=color, marker=marker, markersize=5, linewidth=1.3))
            told.append(f"{router}: {', '.join(f'{share:.0%} after {tokens:,}' for tokens, share in at.items())}")
        legend(fig, *keys)
        return picture(fig, f"Share of the experts needed, by number of tokens. {'; '.join(told)}.", caption)
