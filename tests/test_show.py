"""Pictures: their words and shapes come from the data, and no picture goes without words."""

import base64
import io
import re
import subprocess
import sys
from dataclasses import replace
from unittest import mock

import matplotlib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.patches import FancyArrowPatch, Rectangle
from PIL import Image

from helpers import lasting
from helpers.lessons.copying.recorded import recorded_table
from helpers.measure import Comparison, Recording, measure
from helpers.measure.machine import Machine
from helpers.measure.recording import IO, Faults
from helpers.measure.sharing import Shares, Sharing
from helpers.show import bars, copy_paths, curves, shared_table, table
from helpers.show.curves import POINTS, thinned
from helpers.show.figure import ABSENT, ANONYMOUS, KINDS, PREDICTED, Interactive, paint, picture
from helpers.show.paths import copies
from helpers.units import MiB

SIZE = 256 * MiB
HERE = Machine("Linux 6.1", "a processor", 2, 8 * 2**30, "3.12.1", 4096, "ext4", 131072)
NO_KINDS = {"anonymous": None, "file": None, "shared": None}


def recording(name="read", anonymous=0, file=0, shared=0, n=101, wall=0.2, **more) -> Recording:
    """Memory that grows from nothing to its peak (MiB) in half the time."""
    growth = np.minimum(np.linspace(0, 2, n), 1) * MiB
    series = {
        kind: (growth * peak).astype(np.int64)
        for kind, peak in (("anonymous", anonymous), ("file", file), ("shared", shared))
    }
    given = {"times": np.linspace(0, wall, n), "resident": sum(series.values()), "machine": HERE, "wall": wall}
    return Recording(name, **(given | series | more))


def unsplit(name: str, resident: int) -> Recording:
    """A recording from a system that can't tell the kinds of memory apart."""
    return replace(recording(name, resident), **NO_KINDS)


def comparison(*recordings: Recording) -> Comparison:
    return Comparison({one.name: [one] for one in recordings})


@pytest.fixture
def copied() -> Comparison:
    return comparison(
        recording("read", 256, io=IO(1, 1, SIZE, SIZE, SIZE, SIZE), faults=Faults(65_536, 0)),
        recording("chunks", 1, io=IO(257, 256, SIZE, SIZE, 0, SIZE), wall=0.1),
        recording("mmap", 0, 256, io=IO(0, 4, 0, SIZE, 0, SIZE)),
        recording("sendfile", 0, io=IO(2, 2, SIZE, SIZE, 0, SIZE), wall=0.05),
    )


MOVES = {"read/write": ["read", "chunks"], "map": ["mmap"], "in kernel": ["sendfile"]}


def texts(shown) -> str:
    """Everything that's written in a picture, with spaces for line breaks."""
    return " ".join(text.get_text().replace("\n", " ") for text in shown.figure.findobj(matplotlib.text.Text))


def tops(ax) -> dict[str, float]:
    """The highest point of each filled area in a panel, by its label, in the axis's units."""
    return {area.get_label(): area.get_paths()[0].vertices[:, 1].max() for area in ax.collections}


# --- the layer below every picture ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "alt", ["", "  ", "image", "A figure.", "No description has been provided for this image", "no description has "
            "been provided for this image."]
)  # fmt: skip
def test_a_picture_needs_words(alt):
    with pytest.raises(ValueError, match="isn't an alternative text"):
        picture(Figure(), alt)


def test_html_of_a_picture():
    shown = picture(Figure(figsize=(2, 1)), 'read & "write": 1 MiB <here>', "see <above>")
    html = shown._repr_html_()
    assert html.startswith('<figure class="zc-figure"')
    assert 'alt="read &amp; &quot;write&quot;: 1 MiB &lt;here&gt;"' in html
    assert "<figcaption" in html and "see &lt;above&gt;</figcaption>" in html
    data = base64.b64decode(re.search(r'src="data:image/png;base64,([^"]+)"', html)[1])
    assert Image.open(io.BytesIO(data)).size == (480, 240)
    assert repr(shown) == 'read & "write": 1 MiB <here>'
    assert "<figcaption" not in picture(Figure(), "one two three")._repr_html_()


def test_the_same_data_gives_the_same_bytes_whatever_the_notebook_has_set(copied, tmp_path):
    first = curves(copied, {"read": SIZE})
    first.save(tmp_path / "first.svg")
    with matplotlib.rc_context({"font.size": 20, "axes.facecolor": "black", "savefig.dpi": 30, "hatch.linewidth": 5}):
        again = curves(copied, {"read": SIZE})
        again.save(tmp_path / "again.svg")
    assert again.png == first.png
    assert (tmp_path / "again.svg").read_bytes() == (tmp_path / "first.svg").read_bytes()


def test_a_picture_is_saved_whole_or_not_at_all(copied, tmp_path):
    shown = curves(copied)
    shown.save(tmp_path / "curves.png")
    assert (tmp_path / "curves.png").read_bytes() == shown.png
    with pytest.raises(ValueError, match=r"'curves.jpg': use the suffix .png or .svg"):
        shown.save(tmp_path / "curves.jpg")
    with pytest.raises(FileNotFoundError):
        shown.save(tmp_path / "missing" / "curves.png")
    (tmp_path / "folder.png").mkdir()
    with pytest.raises(OSError, match=r"folder\.png"):
        shown.save(tmp_path / "folder.png")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["curves.png", "folder.png"]


def test_pictures_need_no_pyplot_and_leave_no_settings(copied):
    before = dict(matplotlib.rcParams)
    curves(copied)
    assert dict(matplotlib.rcParams) == before
    code = "import sys, helpers.show; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_kinds_differ_in_grey_and_in_more_than_colour():
    faces = [kind.face for kind in (*KINDS.values(), ABSENT)]
    grey = sorted(matplotlib.colors.rgb_to_hsv(matplotlib.colors.to_rgb("white"))[2] * _lightness(f) for f in faces)
    assert min(np.diff(grey)) > 0.08
    assert len({kind.hatch for kind in KINDS.values()}) == 3


def _lightness(color: str) -> float:
    return float(np.dot(matplotlib.colors.to_rgb(color), (0.299, 0.587, 0.114)))


def test_a_widget_is_shown_with_a_copy_that_is_renewed(monkeypatch: pytest.MonkeyPatch):
    import ipywidgets

    outputs, handle = [], mock.Mock()
    monkeypatch.setattr("IPython.display.display", lambda data, **options: outputs.append(data) or handle)
    monkeypatch.setattr(lasting, "in_notebook", lambda: True)
    shown = Interactive(ipywidgets.IntSlider(), picture(Figure(), "one two three"))
    shown._ipython_display_()
    view, copy = outputs
    assert view.keys() == {lasting.VIEW, "text/html"} and not view["text/html"]
    assert '<img alt="one two three"' in copy["text/html"] and copy["text/plain"] == "one two three"
    assert lasting.alone(copy["text/html"]) == shown._repr_html_() != copy["text/html"]
    shown.draw(picture(Figure(), "four five six"))
    assert handle.update.call_args.args[0]["text/plain"] == repr(shown) == "four five six"


# --- curves ---------------------------------------------------------------------------------------------------


def test_curves_say_what_was_measured(copied):
    shown = curves(copied, {"read": SIZE, "mmap": 0}, "Four ways.")
    assert (
        "read: 256 MiB anonymous, 0 B file-backed at its peak, in 0.2 s; you predicted 256 MiB anonymous." in shown.alt
    )
    assert "mmap: 0 B anonymous, 256 MiB file-backed at its peak, in 0.2 s; you predicted 0 B anonymous." in shown.alt
    assert "chunks: 1 MiB anonymous, 0 B file-backed at its peak, in 0.1 s." in shown.alt
    assert shown.caption == f"Four ways. Measured on {HERE}."
    assert "256 MiB file-backed" in texts(shown) and "you: 256 MiB anonymous" in texts(shown)


def test_kinds_are_stacked_on_one_scale():
    small, large = recording("small", 10, 20, 30), recording("large", 100)
    one, other = curves(comparison(small, large)).figure.axes
    assert tops(one) == pytest.approx({"anonymous": 10, "file-backed": 30, "shared": 60}, rel=1e-3)
    assert tops(other) == pytest.approx({"anonymous": 100}, rel=1e-3)
    assert one.get_ylim() == other.get_ylim() and one.get_xlim() == other.get_xlim()
    assert one.get_ylim()[1] > 100
    look = {area.get_label(): area.get_hatch() for area in one.collections}
    assert look == {kind.word: kind.hatch for kind in KINDS.values()}


def test_one_recording_is_one_panel():
    shown = curves(recording("alone", 5))
    assert len(shown.figure.axes) == 1 and "alone: 5 MiB anonymous" in shown.alt


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 10])
def test_any_number_of_panels_fits(count):
    panels = curves(comparison(*(recording(f"method number {i} of many", 1 + i) for i in range(count)))).figure.axes
    boxes = [ax.get_position() for ax in panels]
    assert len(boxes) == count and len({(round(b.width, 6), round(b.height, 6)) for b in boxes}) == 1
    assert all(0 < box.x0 < box.x1 < 1 and 0 < box.y0 < box.y1 < 1 for box in boxes)
    assert not any(one.overlaps(other) for i, one in enumerate(boxes) for other in boxes[:i])


def test_a_spike_of_one_sample_is_drawn():
    memory = np.full(5_000, MiB)
    memory[3_217] = 256 * MiB
    shown = curves(replace(recording("spike", n=5_000), file=memory))
    (area,) = shown.figure.axes[0].collections
    assert area.get_paths()[0].vertices[:, 1].max() == 256
    assert len(area.get_paths()[0].vertices) <= 2 * POINTS + 3


@given(seed=st.integers(0, 2**32), samples=st.integers(1, 300), points=st.integers(20, 60))
def test_thinning_keeps_every_peak_and_the_order(seed, samples, points):
    stack = np.random.default_rng(seed).integers(0, 10**9, (3, samples))
    times = np.arange(float(samples))
    thin_times, thin = thinned(times, stack, points)
    assert len(thin_times) == thin.shape[1] <= points
    assert (np.diff(thin_times) > 0).all() and thin.sum(axis=0).min() == stack.sum(axis=0).min()
    assert (thin.max(axis=1) == stack.max(axis=1)).all() and thin.sum(axis=0).max() == stack.sum(axis=0).max()
    assert (thin == stack[:, thin_times.astype(int)]).all()


def test_a_picture_of_ten_long_and_noisy_runs_stays_small():
    rng = np.random.default_rng(0)
    runs = [recording(f"method {i}", 256, 256, n=5_000) for i in range(10)]
    noisy = [replace(one, file=one.file + rng.integers(0, 4 * MiB, 5_000)) for one in runs]
    assert len(curves(comparison(*noisy))._repr_html_()) < 160_000


def test_kinds_that_were_not_measured_are_never_drawn_as_if_they_were():
    shown = curves(comparison(unsplit("elsewhere", 64), recording("here", 9)))
    assert tops(shown.figure.axes[0]) == {"kinds not measured here": 64}
    assert "elsewhere: 64 MiB resident (kinds not measured here) at its peak" in shown.alt
    assert "64 MiB resident (kinds not measured here)" in texts(shown)
    assert "here: 9 MiB anonymous" in shown.alt
    assert "anonymous" not in texts(curves(unsplit("alone", 64)))


@pytest.mark.parametrize(
    ("end", "words"),
    [("SIGBUS", "ended by SIGBUS"), ("timed out", "timed out"), ("memory limit", "stopped at the memory limit")],
)
def test_how_a_run_ended_is_written_in_its_panel(end, words):
    shown = curves(comparison(recording("broken", 64, ended=end), recording("whole", 64)))
    assert f"0.2 s, {words}." in shown.alt and words in texts(shown)
    assert shown.alt.count(words) == 1


def test_a_run_that_ended_before_its_first_sample():
    nothing = {kind: np.array([], np.int64) for kind in ("times", "resident", *KINDS)}
    shown = curves(replace(recording("gone"), **nothing, wall=None, ended="SIGKILL"))
    assert "gone: 0 B anonymous, 0 B file-backed at its peak, ended by SIGKILL." in shown.alt


def test_a_prediction_has_the_look_of_the_memory_that_it_is_about(copied):
    """So a guess of anonymous memory beside file-backed memory of the same height doesn't look right."""
    shown = curves(copied, {"mmap": 256 * MiB, "chunks": None})
    panel = shown.figure.axes[list(copied).index("mmap")]
    (guess,) = panel.patches
    assert (guess.get_height(), guess.get_hatch(), guess.get_linestyle()) == (256, "////", PREDICTED["linestyle"])
    assert to_hex(guess.get_facecolor()) == ANONYMOUS.face
    (line,) = [one for one in panel.lines if one.is_dashed()]
    assert set(line.get_ydata()) == {256} and line.get_color() == ANONYMOUS.edge
    (area,) = panel.collections
    times = area.get_paths()[0].vertices[:, 0]
    assert times.max() < guess.get_x() < panel.get_xlim()[1], "beside what was measured, not on it"
    unmarked = curves(copied, {"chunks": None})
    assert not [one for ax in unmarked.figure.axes for one in ax.patches]
    assert "you" not in unmarked.alt and "you" not in texts(unmarked)


def test_a_wild_prediction_does_not_flatten_the_curves(copied):
    shown = curves(copied, {"read": 10**15})
    assert shown.figure.axes[0].get_ylim()[1] < 400
    assert "↑" in texts(shown) and "you predicted 931,323 GiB anonymous" in shown.alt


def test_a_prediction_that_names_no_method_is_an_error(copied):
    with pytest.raises(ValueError, match="'raed', but the methods are: read, chunks"):
        curves(copied, {"raed": 1})
    with pytest.raises(ValueError, match="from 0 up"):
        curves(copied, {"read": -1})
    with pytest.raises(ValueError, match="nothing to show"):
        curves({})


@pytest.mark.measured
def test_a_real_measurement_is_shown():
    def hold():
        import time

        held = b"\1" * (64 * 2**20)
        time.sleep(0.05)
        return len(held)

    measured = measure(hold)
    shown = curves(measured)
    if measured.anonymous is None:
        assert "kinds not measured here" in shown.alt
    else:
        assert tops(shown.figure.axes[0])["anonymous"] == pytest.approx(64, rel=0.05)


# --- method x meter -------------------------------------------------------------------------------------------


def bar_widths(ax) -> list[float]:
    return [bar.get_width() for container in ax.containers for bar in container]


def test_bars_are_as_long_as_what_was_measured(copied):
    shown = bars(copied, "wall", "anonymous", predicted={"read": 0.1})
    times, memory = shown.figure.axes
    assert bar_widths(times) == [0.2, 0.1, 0.2, 0.05]
    assert bar_widths(memory) == [256 * MiB, MiB, 0, 0]
    (guess,) = [p for p in times.patches if p.get_linestyle() == PREDICTED["linestyle"]]
    assert (guess.get_x(), guess.get_width()) == (0, 0.1)
    (measured, *_), *_ = times.containers
    assert guess.get_y() == pytest.approx(measured.get_y() + measured.get_height()), "below it, not around it"
    assert [label.get_text() for label in times.get_yticklabels()] == list(copied)
    assert "read: time 0.2 s, anonymous peak 256 MiB; you predicted 0.1 s." in shown.alt
    assert "0.2 s (you: 0.1 s)" in texts(shown)


def test_a_predicted_bar_has_the_look_of_its_memory():
    shown = bars(comparison(recording("map", 0, 64)), "anonymous", "file", predicted={"map": 64 * MiB})
    *_, measured, guess = shown.figure.axes[0].patches
    assert (measured.get_width(), measured.get_hatch()) == (guess.get_width(), None) and guess.get_hatch() == "////"
    assert "64 MiB (you: 64 MiB anonymous)" in texts(shown)


def test_long_words_never_squeeze_the_bars():
    long = comparison(*(recording(f"a way of copying with many words, the {i}th", 77.3, 51.7, 153) for i in range(3)))
    guesses = dict.fromkeys(long, 123 * MiB)
    panels = bars(long, "anonymous", "file", "shared", "wall", "minor faults", predicted=guesses).figure.axes
    width = panels[0].figure.get_figwidth()
    assert all(ax.get_position().width * width >= 0.49 for ax in panels)
    assert panels[-1].get_position().x1 < 1


def test_kinds_of_memory_share_a_bar():
    (panel,) = bars(comparison(recording("all", 10, 20, 30)), "file", "shared", "anonymous").figure.axes
    starts = [(bar.get_x() / MiB, bar.get_width() / MiB, bar.get_hatch()) for bar in panel.patches]
    assert starts == [(0, 10, "////"), (10, 20, None), (30, 30, "...")]


def test_bars_say_what_was_not_measured():
    shown = bars(comparison(unsplit("elsewhere", 64), recording("broken", 3, ended="SIGSEGV")))
    assert "elsewhere: anonymous peak not measured here." in shown.alt
    assert "broken: anonymous peak 3 MiB, ended by SIGSEGV." in shown.alt
    assert "not measured here" in texts(shown) and "broken (SIGSEGV)" in texts(shown)


def test_bars_refuse_what_they_cannot_draw(copied):
    with pytest.raises(ValueError, match="no meter 'wal'; there are: anonymous"):
        bars(copied, "wal")
    with pytest.raises(ValueError, match="4 panels"):
        bars(copied, "wall", "user", "anonymous", "read calls")


def test_a_table_reads_the_same_in_html_and_in_a_terminal(copied):
    shown = table(copied, "anonymous", "wall", "user", caption="Four ways.")
    html, text = shown._repr_html_(), repr(shown)
    assert html.startswith('<table class="zc-table"><caption>Four ways. Measured on Linux')
    assert html.count('scope="col"') == 4 and html.count('scope="row"') == 4
    for words in ("anonymous, peak", "256 MiB", "0.05 s", "not measured here"):
        assert words in html and words in text
    assert text.splitlines()[1].split() == ["read", "256", "MiB", "0.2", "s", "not", "measured", "here"]


# --- what is copied how often ---------------------------------------------------------------------------------


def arrows(shown) -> list[FancyArrowPatch]:
    return [p for p in shown.figure.axes[0].patches if isinstance(p, FancyArrowPatch)]


def test_arrows_are_what_the_counters_bear_out(copied):
    # read: from the disk, in, out, to the disk; chunks: in, out, to the disk; the other two: across, to the disk
    assert len(arrows(copy_paths(copied, MOVES))) == 4 + 3 + 2 + 2
    assert len(arrows(copy_paths(copied, MOVES, destination="socket"))) == 3 + 2 + 1 + 1
    idle = comparison(replace(copied["read"], io=IO(3, 0, 100, 0, 0, 0)), copied["chunks"])
    assert len(arrows(copy_paths(idle, MOVES))) == 0 + 3


def test_the_diagram_says_what_was_counted(copied):
    shown = copy_paths(copied, MOVES)
    assert "read: through user memory, copied twice, read 256 MiB in 1 call, written 256 MiB in 1 call" in shown.alt
    assert "mmap: mapped, copied once, written 256 MiB in 4 calls, lent pages at the peak 256 MiB" in shown.alt
    assert "sendfile: inside the kernel, copied once, written 256 MiB in 2 calls" in shown.alt
    written = texts(shown)
    assert "257 calls" in written and "256 MiB, 2 calls" in written and "copied twice" in written
    assert [copies(copied[name], move, SIZE) for move, names in MOVES.items() for name in names] == [2, 2, 1, 1]


def test_user_memory_is_filled_by_what_it_held(copied):
    patches = copy_paths(copied, MOVES).figure.axes[0].patches
    boxes = [p for p in patches if isinstance(p, Rectangle) and p.get_x() == 388]
    shares = [box.get_width() / 84 for box in boxes[1::2]]
    assert shares == pytest.approx([1, 1 / 256, 1, 0])
    faces = [matplotlib.colors.to_hex(box.get_facecolor()) for box in boxes[1::2]]
    assert faces == [paint(KINDS[kind])["facecolor"] for kind in ("anonymous", "anonymous", "file", "anonymous")]


def test_counters_that_are_missing_are_question_marks(copied):
    bare = comparison(*(replace(one, io=IO(), **NO_KINDS) for one in copied.values()))
    shown = copy_paths(bare, MOVES)
    assert shown.alt.count("written not measured here") == 4 and "copied" not in shown.alt.partition(".")[2]
    assert "?" in texts(shown) and "not measured here" in texts(shown)


def test_every_method_needs_a_move(copied):
    with pytest.raises(ValueError, match="must say how these move bytes: sendfile"):
        copy_paths(copied, {way: names for way, names in MOVES.items() if way != "in kernel"})


# --- figures recorded elsewhere ---------------------------------------------------------------------------
def test_a_recorded_table_says_where_it_was_recorded_and_chooses_columns():
    rust = recorded_table("rust_copy.csv", "method", "heap peak (bytes)")
    assert rust.caption.startswith("Recorded, not measured here") and "ext4" in rust.caption
    assert rust.header == ("method", "heap peak (bytes)") and rust.rows[0][1].startswith("1,073,74")
    assert ("cp", "–") in rust.rows
    with pytest.raises(ValueError, match="no column 'heap'; there are: method, heap at the end"):
        recorded_table("rust_copy.csv", "heap")


def test_processes_of_several_groups_stand_in_one_table():
    row = Shares("worker 1", 1, rss=8 * MiB, pss=2 * MiB, uss=0, anonymous=0, file=8 * MiB, private_dirty=0)
    shown = shared_table({"read": Sharing((row,)), "mapped": Sharing((row, row))})
    assert [name for name, *_ in shown.rows] == [
        "read: worker 1",
        "mapped: worker 1",
        "mapped: worker 1",
        "mapped: together",
    ]
    assert shown.rows[-1][2] == "4 MiB" and "PSS" in shown.header
    assert shown.caption in shown._repr_html_()
