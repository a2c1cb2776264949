"""Lesson 07: other right answers are right, what is recorded is what happens, and a lazy rule does not pass."""

import os
import sys
from multiprocessing.shared_memory import SharedMemory
from pathlib import Path

import pytest

from helpers.measure import sampler
from helpers.teach.exercises import Attempt, Verdict
from helpers.teach.lessons import lesson_07
from helpers.units import MiB

pytestmark = pytest.mark.usefixtures("nothing_is_left")

ONE = {one.key: one for one in lesson_07.EXERCISES}
RIGHT = {
    "07.dangling, a memoryview between": """def layer(path, offset, count):
    import mmap
    import numpy as np
    with open(path, "rb") as file:
        view = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    return np.frombuffer(view[offset:offset + 4 * count], "<f4")
""",
    "07.dangling, a part of a private map": """def layer(path, offset, count):
    import mmap
    import numpy as np
    begin = offset // mmap.ALLOCATIONGRANULARITY * mmap.ALLOCATIONGRANULARITY
    with open(path, "rb") as file:
        mapping = mmap.mmap(file.fileno(), offset - begin + 4 * count, access=mmap.ACCESS_COPY, offset=begin)
    return np.asarray(memoryview(mapping)[offset - begin:].cast("f"))
""",
    "07.cart, a mapping of its own": """class Cart:
    def __init__(self, memory):
        import mmap
        self.size = memory.size
        self.mapping = mmap.mmap(memory._fd, memory.size)
        memory.close()

    def lend(self):
        return memoryview(self.mapping).toreadonly()

    def close(self):
        mapping, self.mapping = self.mapping, None
        try:
            mapping.close()
        except BufferError:  # the views keep it, and it goes with them
            pass

def shared_cart(name):
    from multiprocessing.shared_memory import SharedMemory
    return Cart(SharedMemory(name))
""",
    "07.report, words of numpy in a list": lesson_07.EXPLAIN.replace("explain(", "found(")
    + """
def explain(steps):
    import numpy as np
    value = found(steps)
    word, *names = [value] if type(value) is str else value
    return [np.str_(each) for each in (word, *reversed(names))]
""",
}
TRACK = "SharedMemory(name, track=False)"


def checked(key: str, source: str) -> Verdict:
    return ONE[key].check(ONE[key].made(source), size=4 * MiB)


@pytest.mark.parametrize("way", RIGHT)
def test_other_right_answers_are_right(way: str):
    verdict = checked(way.partition(",")[0], RIGHT[way])
    assert verdict.outcome == "right", repr(verdict)


# --- 07.cart --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("message", ["has unlinked it", "A cart may not refuse"])
def test_no_block_is_left_whether_the_cart_unlinks_it_or_not(message: str, monkeypatch: pytest.MonkeyPatch):
    made = []

    class Noted(SharedMemory):
        def __init__(self, *args, **options):
            super().__init__(*args, **options)
            made.append(self.name)

    monkeypatch.setattr(lesson_07, "SharedMemory", Noted)
    source = next(source for source, told in ONE["07.cart"].wrong if message in told)
    assert message in checked("07.cart", source).because
    with pytest.raises(FileNotFoundError):
        SharedMemory(made[0])


def test_who_is_signed_up_with_the_resource_tracker_is_told():
    solution = ONE["07.cart"].solution_source
    plain = checked("07.cart", solution)
    assert plain.outcome == "right" and ("resource tracker" in plain.because) == (os.name == "posix")
    if sys.version_info >= (3, 13):
        verdict = checked("07.cart", solution.replace("SharedMemory(name)", TRACK))
        assert verdict.outcome == "right" and "resource tracker" not in verdict.because


def test_what_only_the_child_of_the_check_drops_prints_no_traceback(capfd: pytest.CaptureFixture[str]):
    for source, message in ONE["07.cart"].wrong:
        if "half of itself" in message:
            checked("07.cart", source)
    assert "Traceback" not in "".join(capfd.readouterr())


# --- 07.report ------------------------------------------------------------------------------------------------
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_what_is_recorded_is_what_happens(tmp_path: Path):
    as_named = {letter: letter for letter in "acdehsvw"}
    cases = {lesson_07.steps(case, as_named): case for case in lesson_07.CASES.values()}
    live = lesson_07.live_outcomes(Attempt(None, 0, 20, tmp_path), list(cases))
    assert len(live) == len(lesson_07.CASES)
    for steps, end in live.items():
        assert (end[0], set(end[1:])) == (cases[steps].found[0], set(cases[steps].found[1:])), cases[steps].does


@pytest.mark.parametrize("live", [{}, {(("mmap", "x", None),): ("done",)}])
def test_where_they_cannot_be_run_recorded_ones_are_asked(live: dict, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lesson_07, "live_outcomes", lambda *_: live)
    verdict = checked("07.report", lesson_07.EXPLAIN)
    assert verdict.outcome == "right" and "recorded on another machine" in verdict.because


def test_a_wrong_answer_is_shown_the_steps_of_the_process():
    source = ONE["07.report"].solution_source.replace("def explain(", "def found(")
    source += """
def explain(steps):
    return "crash", "::".join(map(str, steps[0])) if len(steps) < 5 else found(steps)
"""
    because = checked("07.report", source).because
    owner = because.split("mmap::")[1].split("::")[0]
    assert f"The process did `{owner} = mmap.mmap(…); " in because and because.endswith(f"; {owner}.close()`.")


def test_every_step_of_the_cases_is_written_as_python_that_compiles():
    for case in lesson_07.CASES.values():
        given = lesson_07.steps(case, {letter: letter for letter in "acdehsvw"})
        compile("; ".join(lesson_07.written(*step) for step in given).replace("…", "..."), case.does, "exec")


@pytest.mark.parametrize(
    "rule",
    [
        '"done"',
        '"BufferError", *made',
        '("BufferError", *made) if not any(what == "ndarray" for what, _, _ in steps) else ("crash", *made)',
        '"done" if any(what in ("release", "del") for what, _, _ in steps) else ("BufferError", *made)',
        '("BufferError", made[-1]) if made else "done"',
    ],
)
def test_a_lazy_rule_does_not_pass(rule: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lesson_07, "live_outcomes", lambda *_: {})
    source = f"""def explain(steps):
    made = [name for what, name, source in steps if source]
    made = [name for name in made if not any(step[:2] in (("release", name), ("del", name)) for step in steps)]
    return {rule}
"""
    verdict = checked("07.report", source)
    assert verdict.outcome == "not yet" and "for a process that" in verdict.because


# --- a machine that shows less --------------------------------------------------------------------------------
def test_where_no_kinds_of_memory_are_told_apart_the_heap_counter_stands_in(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    verdict = checked("07.dangling", ONE["07.dangling"].solution_source)
    assert verdict.outcome == "right" and "not measured here" in verdict.because
