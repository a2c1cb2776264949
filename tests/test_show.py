"""Curves, bars, tables and copy diagrams of recordings: their words and shapes come from the
data.
"""

import base64
import io
import re
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import ipywidgets
import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.figure import Figure
from pictures import (
    HERE,
    NO_KINDS,
    SIZE,
    arrows,
    comparison,
    panels,
    recording,
    texts,
    unsplit,
)
from PIL import Image

from helpers import widgets
from helpers.lessons.copying.figures import recorded_table
from helpers.lessons.reading.quadrants import quadrants
from helpers.measure import Comparison
from helpers.measure.recording import IO, Faults, Mark, Switches
from helpers.measure.sharing import Shares, Sharing
from helpers.show import Table, bars, copy_paths, curves, shared_table, table
from helpers.show.curves import POINTS, thinned
from helpers.show.figure import (
    ANONYMOUS,
    FILE,
    KINDS,
    PREDICTED,
    Interactive,
    guessed,
    paint,
    picture,
)
from helpers.units import MiB

MOVES = {"read/write": ["read", "chunks"], "map": ["mmap"], "in kernel": ["sendfile"]}


@pytest.fixture
def copied() -> Comparison:
    return comparison(
        recording("read", 256, io=IO(1, 1, SIZE, SIZE, SIZE, SIZE), faults=Faults(65_536, 0)),
        recording("chunks", 1, io=IO(257, 256, SIZE, SIZE, 0, SIZE), wall=0.1),
        recording("mmap", 0, 256, io=IO(0, 4, 0, SIZE, 0, SIZE)),
        recording("sendfile", 0, io=IO(2, 2, SIZE, SIZE, 0, SIZE), wall=0.05),
    )


# --- the layer below every picture ----------------------------------------------------------------
@pytest.mark.parametrize("alt", ["", "  ", "A figure."])
def test_a_picture_needs_an_alternative_text(alt: str):
    with pytest.raises(ValueError, match="isn't an alternative text"):
        picture(Figure(), alt)


def test_html_of_a_picture():
    shown = picture(Figure(figsize=(2, 1)), 'read & "write": 1 MiB <here>', "see <above>")
    html = shown._repr_html_()
    assert 'alt="read &amp; &quot;write&quot;: 1 MiB &lt;here&gt;"' in html
    assert "see &lt;above&gt;</figcaption>" in html
    data = base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', html)[1])
    assert Image.open(io.BytesIO(data)).size == (480, 240)
    assert repr(shown) == 'read & "write": 1 MiB <here>'
    assert "<figcaption" not in picture(Figure(), "one two three")._repr_html_()


def test_the_same_data_gives_the_same_bytes_whatever_the_notebook_has_set(copied, tmp_path):
    first = curves(copied, {"read": SIZE})
    assert first.png
    with matplotlib.rc_context(
        {"font.size": 20, "axes.facecolor": "black", "savefig.dpi": 30, "hatch.linewidth": 5}
    ):
        again = curves(copied, {"read": SIZE})
        for suffix in ("png", "svg"):
            again.save(tmp_path / f"again.{suffix}")
    assert (tmp_path / "again.png").read_bytes() == first.png
    assert b"<svg" in (tmp_path / "again.svg").read_bytes()
    with pytest.raises(ValueError, match=r"'again.jpg': use the suffix .png or .svg"):
        again.save(tmp_path / "again.jpg")


def test_pictures_need_no_pyplot_and_leave_no_settings(copied):
    before = dict(matplotlib.rcParams)
    curves(copied)
    assert dict(matplotlib.rcParams) == before
    code = "import sys, helpers.show; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_widget_is_shown_with_a_copy_that_is_renewed(monkeypatch: pytest.MonkeyPatch):
    outputs = []
    handle = mock.Mock()
    monkeypatch.setattr(
        "IPython.display.display", lambda data, **options: outputs.append(data) or handle
    )
    monkeypatch.setattr(widgets, "in_notebook", lambda: True)
    shown = Interactive(ipywidgets.IntSlider(), picture(Figure(), "one two three"))
    shown._ipython_display_()
    view, copy = outputs
    assert view.keys() == {widgets.VIEW, "text/html"}
    assert not view["text/html"]
    assert '<img alt="one two three"' in copy["text/html"]
    assert copy["text/plain"] == "one two three"
    assert widgets.static_html(copy["text/html"]) == shown._repr_html_() != copy["text/html"]
    shown.draw(picture(Figure(), "four five six"))
    assert handle.update.call_args.args[0]["text/plain"] == repr(shown) == "four five six"


# --- curves ---------------------------------------------------------------------------------------
def test_curves_say_what_was_measured(copied):
    shown = curves(copied, {"read": SIZE, "mmap": 0}, "Four ways.")
    assert (
        "read: 256 MiB anonymous, 0 B file-backed at its peak, in 0.2 s, you predicted 256 MiB"
        in shown.alt
    )
    assert "chunks: 1 MiB anonymous, 0 B file-backed at its peak, in 0.1 s." in shown.alt
    assert shown.caption == f"Four ways. Measured on {HERE}."
    assert "256 MiB file-backed" in texts(shown)
    assert "you: 256 MiB anonymous" in texts(shown)
    assert "alone: 5 MiB anonymous" in curves(recording("alone", 5)).alt


@pytest.mark.parametrize(
    ("end", "words"),
    [
        ("SIGBUS", "ended by SIGBUS"),
        ("timed out", "timed out"),
        ("memory limit", "stopped at the memory limit"),
    ],
)
def test_a_panel_says_how_a_run_ended(end: str, words: str):
    shown = curves(comparison(recording("broken", 64, ended=end), recording("whole", 64)))
    assert shown.alt.count(words) == 1
    assert words in " ".join(texts(shown))


def test_a_mark_with_a_long_name_shows_its_end():
    run = replace(recording("alone", 5), marks=(Mark("Neighbors.radius_neighbors called", 0.1),))
    assert "…radius_neighbors called" in texts(curves(run))


def test_a_run_that_ended_before_its_first_sample():
    nothing = {kind: np.array([], np.int64) for kind in ("times", "resident", *KINDS)}
    shown = curves(replace(recording("gone"), **nothing, wall=None, ended="SIGKILL"))
    assert "gone: 0 B anonymous, 0 B file-backed at its peak, ended by SIGKILL." in shown.alt


def test_a_prediction_that_names_no_method_is_an_error(copied):
    with pytest.raises(ValueError, match="'raed', but the methods are: read, chunks"):
        curves(copied, {"raed": 1})
    with pytest.raises(ValueError, match="from 0 up"):
        curves(copied, {"read": -1})
    with pytest.raises(ValueError, match="nothing to show"):
        curves({})


def areas(panel) -> dict[str, float]:
    """The highest point of each kind's area, MiB."""
    return {
        area.get_label(): area.get_paths()[0].vertices[:, 1].max() / MiB
        for area in panel.collections
    }


def test_kinds_are_stacked_on_one_scale():
    small = recording("small", 10, 20, 30)
    large = recording("large", 100)
    one, other = panels(curves(comparison(small, large)))
    assert areas(one) == pytest.approx({"anonymous": 10, "file-backed": 30, "shared": 60}, rel=1e-3)
    assert areas(other) == pytest.approx({"anonymous": 100}, rel=1e-3)
    assert one.get_ylim() == other.get_ylim()
    assert one.get_xlim() == other.get_xlim()


@given(seed=st.integers(0, 2**32), samples=st.integers(1, 300), points=st.integers(20, 60))
def test_thinning_keeps_every_peak_and_the_order(seed, samples, points):
    stack = np.random.default_rng(seed).integers(0, 10**9, (3, samples))
    times = np.arange(float(samples))
    thin_times, thin = thinned(times, stack, points)
    assert len(thin_times) == thin.shape[1] <= points
    assert (np.diff(thin_times) > 0).all()
    assert thin.sum(axis=0).min() == stack.sum(axis=0).min()
    assert (thin.max(axis=1) == stack.max(axis=1)).all()
    assert thin.sum(axis=0).max() == stack.sum(axis=0).max()


def test_a_single_sample_stays_visible():
    memory = np.full(5_000, MiB)
    memory[3_217] = 256 * MiB
    (panel,) = panels(curves(replace(recording("spike", n=5_000), file=memory)))
    (edge,) = panel.lines
    assert edge.get_ydata().max() == 256 * MiB
    assert len(edge.get_ydata()) <= POINTS


def test_kinds_that_were_not_measured_are_never_drawn_as_if_they_were():
    shown = curves(comparison(unsplit("elsewhere", 64), recording("here", 9)))
    assert areas(panels(shown)[0]) == {"kinds not measured here": 64}
    assert "elsewhere: 64 MiB resident (kinds not measured here) at its peak" in shown.alt
    assert "anonymous" not in " ".join(texts(curves(unsplit("alone", 64))))


def test_a_prediction_stands_beside_what_was_measured_in_the_look_of_anonymous_memory(copied):
    shown = curves(copied, {"mmap": 256 * MiB, "chunks": None})
    panel = panels(shown)[list(copied).index("mmap")]
    (guess,) = panel.patches
    assert guess.get_height() == 256 * MiB
    assert (guess.get_hatch(), guess.get_linestyle()) == ("////", PREDICTED["linestyle"])
    times = panel.collections[0].get_paths()[0].vertices[:, 0]
    assert times.max() < guess.get_x() < panel.get_xlim()[1]
    assert "you" not in curves(copied, {"chunks": None}).alt


def test_a_wild_prediction_does_not_flatten_the_curves(copied):
    shown = curves(copied, {"read": 10**15})
    assert panels(shown)[0].get_ylim()[1] < 400 * MiB
    assert "you: 931,323 GiB anonymous ↑" in texts(shown)
    assert "you predicted 931,323 GiB" in shown.alt


# --- method x meter -------------------------------------------------------------------------------
def test_bars_are_what_was_measured_and_what_was_predicted(copied):
    shown = bars(copied, "wall", "anonymous", predicted={"read": 0.1})
    assert "read: time 0.2 s, anonymous peak 256 MiB, you predicted 0.1 s." in shown.alt
    times, memory = zip(*(row.cells for row in shown.rows), strict=True)
    assert [bar.parts[0][0] for bar in times] == [0.2, 0.1, 0.2, 0.05]
    assert [bar.parts for bar in memory[:2]] == [
        [(256 * MiB, paint(ANONYMOUS))],
        [(MiB, paint(ANONYMOUS))],
    ]
    assert [bar.guess and bar.guess[0] for bar in times] == [0.1, None, None, None]
    assert times[0].text == "0.2 s\n(you: 0.1 s)"
    assert shown.rows[0].heads == ["time", "anonymous, peak"]


def test_kinds_of_memory_share_a_bar_and_a_prediction_has_the_look_of_its_memory():
    one = recording("all", 10, 20, 30)
    shown = bars(comparison(one), "file", "shared", "anonymous", predicted={"all": 64 * MiB})
    (bar,) = shown.rows[0].cells
    assert bar.parts == [
        (size * MiB, paint(kind)) for size, kind in zip((10, 20, 30), KINDS.values(), strict=True)
    ]
    assert bar.guess == (64 * MiB, guessed(ANONYMOUS))
    assert bar.text.endswith("(you: 64 MiB anonymous)")


def test_bars_say_what_was_not_measured_and_what_did_not_return():
    shown = bars(comparison(unsplit("elsewhere", 64), recording("broken", 3, ended="SIGSEGV")))
    assert "elsewhere: anonymous peak not measured here." in shown.alt
    assert "broken: anonymous peak 3 MiB, ended by SIGSEGV." in shown.alt
    assert {"not measured here", "ended by SIGSEGV"} <= set(texts(shown))


def test_bars_refuse_what_they_cannot_draw(copied):
    with pytest.raises(ValueError, match="no meter 'wal'; there are: anonymous"):
        bars(copied, "wal")
    with pytest.raises(ValueError, match="4 panels"):
        bars(copied, "wall", "user", "anonymous", "read calls")


def test_a_table_reads_the_same_in_html_and_in_a_terminal(copied):
    shown = table(copied, "anonymous", "wall", "user", caption="Four ways.")
    html = shown._repr_html_()
    text = repr(shown)
    assert re.match(
        '<table class="zc-table"><caption style="[^"]*">Four ways. Measured on Linux',
        html,
    )
    assert html.count('scope="col"') == 4
    assert html.count('scope="row"') == 4
    for words in ("anonymous, peak", "256 MiB", "0.05 s", "not measured here"):
        assert words in html.replace("&nbsp;", " ")
        assert words in text
    assert "256&nbsp;MiB" in html, "only a figure stays in a line with its unit"
    assert "not measured here" in html, "only a figure stays in a line with its unit"


def test_code_in_a_table_is_code():
    shown = Table("Of `a`.", ("what", "where"), [("`x`", "local of `f` < 3")])
    assert shown._repr_html_().count("<code>") == 3
    assert "`" not in shown._repr_html_()


def test_a_table_of_recorded_figures_says_where_they_come_from_and_chooses_columns():
    rust = recorded_table("rust_copy.csv", "method", "heap peak (bytes)")
    assert rust.caption.startswith("Recorded, not measured here")
    assert "ext4" in rust.caption
    assert rust.header == ("method", "heap peak (bytes)")
    assert rust.rows[0][1].startswith("1,073,74")
    assert ("cp", "–") in rust.rows
    with pytest.raises(ValueError, match="no column 'heap'; there are: method, heap at the end"):
        recorded_table("rust_copy.csv", "heap")


def test_processes_of_several_groups_stand_in_one_table():
    row = Shares(
        "worker 1", 1, rss=8 * MiB, pss=2 * MiB, uss=0, anonymous=0, file=8 * MiB, private_dirty=0
    )
    shown = shared_table({"read": Sharing((row,)), "mapped": Sharing((row, row))})
    names = ["read: worker 1", "mapped: worker 1", "mapped: worker 1", "mapped: together"]
    assert [name for name, *_ in shown.rows] == names
    assert shown.rows[-1][2] == "4 MiB"
    assert "PSS" in shown.header


# --- two questions at once ------------------------------------------------------------------------
@pytest.fixture
def four() -> dict[tuple[str, str], dict]:
    walls = {
        ("sequential", "cold"): (0.4, 0.3),
        ("sequential", "warm"): (0.1, 0.2),
        ("random", "cold"): (30, 9),
        ("random", "warm"): (0.3, 0.5),
    }
    return {
        pair: {
            "read": recording(
                "read", wall=read, io=IO(1024, 0, 0, 0, 7 * MiB), faults=Faults(10, 0)
            ),
            "map": recording(
                "map", wall=lent, io=IO(1, 0, 0, 0, 9 * MiB), faults=Faults(4000, 113)
            ),
        }
        for pair, (read, lent) in walls.items()
    }


def test_quadrants_say_every_figure_and_mark_the_fastest(four):
    shown = quadrants(four, "Two questions.")
    figures = "0.3 s, the fastest, from device 9 MiB, 4,113 faults, 1 call."
    assert f"sequential, cold, map: {figures}" in shown.alt
    assert shown.alt.count("the fastest") == " ".join(texts(shown)).count("· fastest") == 4
    drawn = [[bar.parts[0][0] for bar in row.cells] for row in shown.rows]
    assert drawn == [[0.4, 0.1], [0.3, 0.2], [30, 0.3], [9, 0.5]]
    heads = ["; ".join(row.heads) for row in shown.rows]
    assert heads[0::2] == ["sequential, cold; sequential, warm", "random, cold; random, warm"]
    assert heads[1::2] == ["", ""], "one scale a panel"


def test_a_run_that_failed_or_was_not_measured_is_not_the_fastest(four):
    broken = recording(wall=0.01, ended="SIGBUS")
    elsewhere = recording(wall=None)
    four["random", "warm"] |= {"broken": broken, "elsewhere": elsewhere}
    shown = quadrants(four)
    assert "random, warm, read: 0.3 s, the fastest" in shown.alt
    assert "ended by SIGBUS" in texts(shown)
    assert (
        "elsewhere: not measured here, from device not measured here, faults not measured"
        in shown.alt
    )


def test_quadrants_need_two_rows_and_two_columns(four):
    with pytest.raises(ValueError, match=r"nothing for \('random', 'warm'\)"):
        quadrants({pair: of for pair, of in four.items() if pair != ("random", "warm")})


# --- what is copied how often ---------------------------------------------------------------------
def test_arrows_are_what_the_counters_bear_out(copied):
    # read: from the disk, in, out, to the disk; chunks: in, out, to the disk; the other two:
    # across, to the disk, and one of them lends
    assert len(arrows(copy_paths(copied, MOVES))) == 4 + 3 + 2 + 2 + 1
    idle = comparison(replace(copied["read"], io=IO(3, 0, 100, 0, 0, 0)), copied["chunks"])
    assert len(arrows(copy_paths(idle, MOVES))) == 0 + 3


def test_user_memory_is_filled_by_what_it_held(copied):
    boxes = [row.cells[2] for row in copy_paths(copied, MOVES).rows]
    assert [box.share for box in boxes] == pytest.approx([1, 1 / 256, 1, 0])
    assert [box.kind for box in boxes] == [ANONYMOUS, ANONYMOUS, FILE, ANONYMOUS]


def test_missing_counters_are_question_marks(copied):
    blind = (replace(one, io=IO(), **NO_KINDS) for one in copied.values())
    shown = copy_paths(comparison(*blind), MOVES)
    assert shown.alt.count("written not measured here") == 4
    assert "copied once" not in shown.alt
    assert {"?", "?  not measured here"} <= set(texts(shown))


def test_a_path_that_ends_in_user_memory():
    counted = {"switches": Switches(5, 0), "faults": Faults(7, 0)}
    read = recording("r", 1, io=IO(64, 0, 64 * MiB, 0, 64 * MiB, 0), **counted)
    lent = recording("m", 0, 64, io=IO(1, 0, 0, 0, 0, 0), faults=Faults(4000, 113))
    ways = {"read/write": ["read, cold"], "map": ["map, warm"]}
    shown = copy_paths({"read, cold": read, "map, warm": lent}, ways, destination=None)
    assert "copied once, waited 5 times" in shown.alt
    assert "from the disk 64 MiB, read 64 MiB in 64 calls" in shown.alt
    assert "map, warm: lent to user memory, never copied" in shown.alt
    assert {"lent", "4,113 faults"} <= set(texts(shown))
    assert len(arrows(shown)) == 3, "from the disk, into user memory; and the mapping's pages"


def test_copy_paths_say_what_was_counted(copied):
    shown = copy_paths(copied, MOVES)
    assert (
        "read: through user memory, copied twice, read 256 MiB in 1 call, written 256 MiB in 1 "
        "call" in shown.alt
    )
    assert (
        "mmap: mapped, copied once, written 256 MiB in 4 calls, lent pages at the peak 256 MiB"
        in shown.alt
    )
    assert (
        "sendfile: inside the kernel, copied at most once, written 256 MiB in 2 calls" in shown.alt
    )
    assert {"257 calls", "256 MiB, 2 calls", "copied twice"} <= set(texts(shown))


def test_copy_paths_refuse_unknown_and_missing_moves(copied):
    with pytest.raises(ValueError, match="must say how these move bytes: sendfile"):
        copy_paths(copied, {way: names for way, names in MOVES.items() if way != "in kernel"})
    with pytest.raises(
        ValueError, match="no move is called 'in kernel'; there are: read/write, map"
    ):
        copy_paths(copied, MOVES, destination=None)
