"""The framework: predictions that are kept, checks that no code breaks, recorded runs."""

import errno
import json
import mmap
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import nbformat
import numpy as np
import psutil
import pytest
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook
from tables import each, each_of

from helpers import folders, safe_files
from helpers.measure import (
    Comparison,
    Explorer,
    NotMeasuredHere,
    compare,
    maps,
    measure,
    sampler,
    workers,
)
from helpers.measure.explorer import Film
from helpers.measure.machine import here
from helpers.publish.execute import kernel
from helpers.teach import (
    claim,
    exercise,
    exercise_files,
    inside,
    notebook_files,
    predict,
    recorded,
    state,
)
from helpers.teach.judging import (
    Attempt,
    NotYet,
    Verdict,
    first_difference,
    first_of,
    must_be_readable,
)
from helpers.teach.predict import Prediction, amount
from helpers.teach.recorded import read
from helpers.teach.words import block, inline, paragraphs, plain, short
from helpers.units import GiB, KiB, MiB
from helpers.widgets import VIEW, static_html


@pytest.fixture(autouse=True)
def a_student(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Each test has a student's folder of its own and one of recorded runs, and no hints
    given yet.
    """
    (folder := tmp_path / "state").mkdir()
    monkeypatch.setattr(folders, "RECORDED", tmp_path)
    monkeypatch.setenv("ZERO_COPY_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("ZERO_COPY_STATE", str(folder))
    monkeypatch.setattr("helpers.teach.exercises._hints_given", {})
    return folder


# --- predictions: kept ----------------------------------------------------------------------------
def peaks() -> Prediction:
    return predict("t.peaks", "How much?", each=["read", "mmap"])


@each_of(
    ("asked", "answer", "line"),
    (predict("t.a", "How much?"), 1024.0, "kept: 1 GiB"),
    (predict("t.b", "How many?", unit="calls"), 1.0, "kept: 1 call"),
    (peaks(), {"read": 256.0, "mmap": 0.0}, "kept: read 256 MiB, mmap 0 B"),
    (predict("t.c", "Which?", choices=["x", "y"]), "y", "kept: y"),
    (
        predict("t.d", "In order?", order=["x", "y", "z"]),
        ["z", "x", "y"],
        "kept: 1. z, 2. x, 3. y",
    ),
    ids=lambda value: getattr(value, "kind", None),
)
def test_a_prediction_is_there_for_the_next_time(asked: Prediction, answer, line: str):
    assert asked.value is None
    assert asked.status == "no prediction yet"
    asked.keep(answer)
    again = Prediction(asked.key, asked.question, asked.kind, asked.unit, asked.names)
    assert again.value == answer
    assert again.status == line
    asked.keep(None)
    assert asked.value is None


@each_of(
    ("asked", "answer"),
    (predict("t.a", "?"), -1),
    (predict("t.a", "?"), float("inf")),
    (predict("t.a", "?"), "many"),
    (predict("t.a", "?", most=100), 101),
    (peaks(), {"elsewhere": 1}),
    (predict("t.c", "?", choices=["x", "y"]), "z"),
    (predict("t.d", "?", order=["x", "y"]), ["x", "x"]),
)
def test_what_is_no_answer_is_refused(asked: Prediction, answer):
    with pytest.raises(ValueError, match=r"doesn't answer 't\."):
        asked.keep(answer)
    assert asked.value is None


@pytest.mark.parametrize(
    "given",
    [
        {"each": ["a"], "order": ["a", "b"]},
        {"choices": ["a"]},
        {"order": ["a", "a"]},
        {"each": []},
    ],
)
def test_a_question_without_sense_is_refused(given):
    with pytest.raises(ValueError, match=r"predict 't\.x'"):
        predict("t.x", "?", **given)


@pytest.mark.parametrize("damage", [b"{", b"[1]", b"\xff\xfe", b"", b'{"a":' * 5000])
def test_a_damaged_file_is_set_aside_not_lost(a_student: Path, damage: bytes):
    for _ in range(2):
        (a_student / "predictions.json").write_bytes(damage)
        assert peaks().value is None
    peaks().keep({"read": 1})
    assert peaks().value == {"read": 1.0}
    aside = [a_student / "predictions.damaged", a_student / "predictions-2.damaged"]
    assert [path.read_bytes() for path in aside] == [damage, damage]


def test_an_answer_to_an_older_question_is_ignored(a_student: Path):
    (a_student / "predictions.json").write_text(
        json.dumps({"t.peaks": "much", "t.a": {"x": 1}, "t.b": 10**400})
    )
    assert peaks().value is None
    assert predict("t.a", "?").value is None
    assert predict("t.b", "?").value is None


def test_two_kernels_that_keep_at_once_lose_nothing(a_student: Path):
    script = (
        "import sys; from helpers.teach import state; [state.keep('p', f'{sys.argv[1]}{i}', i) for "
        "i in range(40)]"
    )
    both = [subprocess.Popen([sys.executable, "-c", script, name]) for name in "ab"]
    assert [one.wait(60) for one in both] == [0, 0]
    assert len(state.read("p")) == 80
    assert len(list(a_student.iterdir())) == 1


@pytest.mark.skipif(os.name != "posix", reason="locks")
def test_a_kernel_that_was_stopped_holds_nobody_up(
    a_student: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(state, "LOCK_TIMEOUT_S", 0.1)
    a_student.mkdir(exist_ok=True)
    descriptor = safe_files.lock(a_student)
    assert state.keep("p", "a", 1)
    assert state.read("p") == {"a": 1}
    os.close(descriptor)


@pytest.mark.parametrize("folder", ["{0}/file/inside", "~nobody-of-that-name/lessons"])
def test_a_folder_that_cannot_be_written_is_no_error(
    folder: str, a_student: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    (a_student / "file").touch()
    monkeypatch.setenv("ZERO_COPY_STATE", folder.format(a_student))
    monkeypatch.setattr("helpers.teach.state._here", {})
    peaks().keep({"read": 5})
    assert peaks().value == {"read": 5.0}
    assert "until this kernel ends" in capsys.readouterr().out


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices")
def test_what_is_no_file_or_has_no_end_is_not_read(
    a_student: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(notebook_files, "LARGEST", 200_000, raising=False)
    path = a_student / "predictions.json"
    for make in (
        os.mkfifo,
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.write_bytes(bytes(200_001)),
    ):
        monkeypatch.setattr("helpers.teach.state._here", {})
        make(path)
        before = path.lstat()
        peaks().keep({"read": 5})
        assert peaks().value == {"read": 5.0}
        assert path.lstat() == before
        path.unlink()


def test_sizes_are_bytes_for_the_plot():
    peaks().keep({"mmap": 0.5})
    assert peaks().sizes == {"mmap": 512 * KiB}
    one = predict("t.a", "?", unit="GiB")
    assert one.sizes == {}
    one.keep(2)
    assert one.sizes == {"": 2 * GiB}
    calls = predict("t.b", "?", unit="calls")
    calls.keep(7)
    assert calls.sizes == {}


# --- predictions: beside what was measured --------------------------------------------------------
@each_of(
    ("asked", "answer", "measured", "said"),
    (predict("t.a", "?"), None, 256 * MiB, "No prediction yet. Measured: 256 MiB."),
    (
        predict("t.a", "?"),
        250,
        256 * MiB,
        "You predicted 250 MiB; measured 256 MiB – well predicted.",
    ),
    (
        predict("t.a", "?"),
        1024,
        256 * MiB,
        "You predicted 1 GiB; measured 256 MiB – you expected 4 times as much.",
    ),
    (predict("t.a", "?"), 0.3, 944 * KiB, "You predicted 307 KiB; measured 944 KiB."),
    (predict("t.a", "?"), 5, None, "You predicted 5 MiB; it is not measured here."),
    (
        predict("t.b", "?", unit="calls"),
        1,
        200,
        "You predicted 1 call; measured 200 calls – 200 times as many.",
    ),
    (
        peaks(),
        None,
        {"read": MiB, "mmap": 0},
        "No prediction yet. Measured: read 1 MiB, mmap 0 B.",
    ),
    (
        peaks(),
        {"mmap": 0},
        {"read": 90 * MiB, "mmap": 0},
        (
            "No prediction yet for read. Measured: 90 MiB. You predicted 0 B for mmap; measured 0 "
            "B – well predicted."
        ),
    ),
    (predict("t.c", "?", choices=["x", "y"]), "x", "x", "As you predicted: x."),
    (predict("t.c", "?", choices=["x", "y"]), "x", "y", "You predicted “x”; measured: y."),
    (
        predict("t.d", "?", order=["x", "y", "z"]),
        ["x", "z", "y"],
        ["x", "y", "z"],
        "You predicted x, z, y; measured x, y, z: 1 is where you put it.",
    ),
)
def test_beside_says_it_in_a_line(asked: Prediction, answer, measured, said: str):
    asked.keep(answer)
    comment = asked.beside(measured)
    assert repr(comment) == said
    assert "\n" not in said
    assert "<p" in comment._repr_html_()


def test_a_prediction_after_its_measurement_is_late(a_student: Path):
    """It's kept, and shown as such; what is handed in stays as it was before the measurement."""
    asked = peaks()
    asked.keep({"read": 5})
    asked.beside({"read": None, "mmap": None})
    asked.keep({"read": 7})
    assert not asked.late, "nothing was measured"
    assert "late" not in repr(asked.beside({"read": 256 * MiB}))
    asked.keep({"read": 7})
    assert not asked.late, "nothing was changed"
    asked.keep({"read": 256})
    assert peaks().late
    assert peaks().value == {"read": 256.0}
    assert peaks().status == "kept: read 256 MiB (late: made after the measurement was shown)"
    assert repr(asked.beside({"read": 256 * MiB})).endswith(
        "(Late: made after the measurement was shown.)"
    )
    assert "late: made after" in asked._repr_html_()
    assert json.loads((a_student / "predictions.json").read_text()) == {"t.peaks": {"read": 7.0}}
    asked.keep(None)
    assert peaks().value is None
    assert not peaks().late
    asked.keep({"read": 3})
    assert peaks().late
    assert json.loads((a_student / "predictions.json").read_text()) == {}


# --- predictions: the inputs ----------------------------------------------------------------------
def inputs(asked: Prediction) -> list:
    return [
        child
        for child in asked.widget.children
        if hasattr(child, "description") and child.description
    ]


def status(asked: Prediction) -> str:
    return asked.widget.children[-1].value


def test_numbers_typed_are_kept_at_once():
    asked = peaks()
    read, mapped = inputs(asked)
    assert (read.description, read.value) == ("read, MiB", "")
    assert "no prediction yet" in status(asked)
    read.value = "1 GiB"
    assert peaks().value == {"read": 1024.0}
    assert "kept: read 1 GiB" in status(asked)
    mapped.value = "0"
    assert peaks().value == {"read": 1024.0, "mmap": 0.0}
    mapped.value = "lots"
    assert peaks().value == {
        "read": 1024.0,
        "mmap": 0.0,
    }
    assert "“lots” is not a number of MiB" in status(asked)
    read.value = mapped.value = ""
    assert peaks().value is None
    assert [box.value for box in inputs(peaks())] == ["", ""]


def test_inputs_begin_with_what_is_kept():
    predict("t.c", "?", choices=["x", "y"]).keep("y")
    (buttons,) = inputs(predict("t.c", "?", choices=["x", "y"]))
    assert buttons.value == "y"
    buttons.value = "x"
    assert predict("t.c", "?", choices=["x", "y"]).value == "x"


def test_an_order_is_kept_when_each_has_its_place():
    asked = predict("t.d", "?", order=["x", "y"])
    first, second = inputs(asked)
    first.value = "y"
    assert asked.value is None
    assert "still to place: x" in status(asked)
    second.value = "x"
    assert asked.value == ["y", "x"]


# --- exercises: was anything done? ----------------------------------------------------------------
def function(body: str, arguments: str = "a, b"):
    return exercise("02.chunks").made(f"def copy_small({arguments}):\n{body}")


@pytest.mark.parametrize(
    "body",
    [
        "    ...",
        "    pass",
        "    return",
        '    "Doc."',
        '    "Doc."\n    ...',
        "    raise NotImplementedError",
        '    raise NotImplementedError("later")',
        "    # a comment\n    return None",
    ],
)
def test_an_empty_body_is_no_attempt(body: str):
    assert not exercise("02.chunks").is_attempt(function(body).__code__)


@pytest.mark.parametrize(
    "body", ["return 5", "return a", "a.b()", "while True: pass", 'return "Doc."']
)
def test_anything_else_is_an_attempt(body: str):
    asked = exercise("02.chunks")
    code = function(f"    {body}").__code__
    assert asked.is_attempt(code)
    assert not replace(asked, starter=f"def copy_small(a, b):\n    {body}").is_attempt(code)


# --- exercises: nothing a student does breaks a check ---------------------------------------------
@each("teach", "answers")
def test_a_check_answers_whatever_the_code_does(body: str, said: str):
    # each ends by itself
    verdict = exercise("02.chunks").check(function(body), size=8 * MiB, timeout=60)
    assert verdict.outcome == "not yet"
    assert said in verdict.because
    assert verdict.cause != "not-checked"
    assert os.environ["ZERO_COPY_DATA"] not in verdict.because, (
        "which machine's path this is, is nobody's business"
    )


def test_a_message_names_no_folder_of_this_machine():
    """A word may be cut in the middle, but a folder's name goes first."""
    for place in (
        folders.ROOT,
        Path.home(),
        sys.prefix,
        sys.base_prefix,
        os.environ["ZERO_COPY_DATA"],
    ):
        said = short(f"cannot import name 'x' from 'y' ({place}/lib/y.py, {'z' * 60})", 60)
        assert "(…/" in said
        assert len(said) < 70


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_locked_folder_is_the_student_s_and_a_full_disk_is_not(tmp_path: Path):
    attempt = Attempt(None, MiB, 5, tmp_path, tmp_path)
    folder = tmp_path / "inside"
    folder.mkdir()
    (folder / "file").touch()
    attempt.hand_out(folder)
    folder.chmod(0)
    with (
        pytest.raises(NotYet, match="can't read `file`: Permission denied") as slip,
        must_be_readable(tmp_path),
    ):
        attempt.unharmed()
    folder.chmod(0o700)
    assert slip.value.cause == "unreadable"
    assert str(tmp_path) not in slip.value.because
    for error in (
        OSError(errno.ENOSPC, "full", str(folder)),
        PermissionError(errno.EACCES, "no", "/elsewhere"),
    ):
        with pytest.raises(OSError, match=error.strerror), must_be_readable(tmp_path):
            raise error


def test_a_verdict_has_a_sign_and_words():
    for outcome, said in (
        ("right", "✓ Right."),
        ("not yet", "○ Not yet:"),
        ("not attempted", "– Not attempted yet."),
    ):
        assert f">{said}</strong> it was." in Verdict(outcome, "it was.")._repr_html_()


def test_many_measurements_are_a_list():
    few, many = (
        Verdict("right", "", tuple(f"loader {n}: {n} MiB" for n in range(count)))._repr_html_()
        for count in (2, 7)
    )
    assert "<p>Measured: loader 0: 0 MiB · loader 1: 1 MiB</p>" in few
    assert many.count("<li>") == 7
    assert "·" not in many


@pytest.mark.parametrize("arguments", ["a", "a, b, c"])
def test_a_function_of_other_arguments_raised_when_it_was_called(arguments: str):
    said = exercise("02.chunks").check(function("    return 1", arguments), size=MiB).because
    assert "positional argument" in said
    assert said.endswith(", when the check called it. Which arguments does the exercise name?"), (
        said
    )


def test_what_is_half_right_says_so():
    verdict = NotYet("wrong-word", "the word isn't right.", half="the bytes").verdict
    assert repr(verdict) == "Not yet: the word isn't right. Half of it is right: the bytes."
    one, other, none = (NotYet("x", "x", half=half) for half in ("the bytes", "the words", ""))
    assert first_of([one, one]).half == "the bytes"
    assert first_of([one, other]).half == ""
    assert first_of([other, none]).half == ""


def test_a_verdict_fits_a_screen():
    body = "    raise ValueError('<b>`' + chr(27) + chr(0xd800) + 'long ' * 200_000)"
    verdict = exercise("02.chunks").check(function(body), size=MiB)
    assert "raised" in verdict.because
    assert "in line 2" in verdict.because
    assert len(repr(verdict)) < 1000
    assert chr(27) not in repr(verdict)
    assert repr(verdict).encode()
    assert "<b>" not in verdict._repr_html_()


def test_what_is_handed_out_must_stay_as_it_is(tmp_path: Path):
    folder = tmp_path / "student"
    judges = tmp_path / "judge"
    folder.mkdir()
    judges.mkdir()
    (folder / "model").mkdir()
    (shard := folder / "model" / "shard.bin").write_bytes(b"12345678")
    attempt = Attempt(None, MiB, 5, folder, judges)
    attempt.hand_out(folder / "model")
    path = attempt.random_file()
    attempt.unharmed()
    assert MiB < path.stat().st_size < 2 * MiB
    assert first_difference(path, attempt.twin(path)) is None
    content = path.read_bytes()
    path.write_bytes(content[:1000] + b"\0\0" + content[1002:])
    assert attempt.twin(path).parent == judges
    assert attempt.twin(path).read_bytes() == content
    with pytest.raises(NotYet, match=r"`source.bin` was changed, first at byte 1,00[01]"):
        attempt.unharmed()
    path.write_bytes(content)
    attempt.unharmed()
    shard.write_bytes(b"12345679")
    with pytest.raises(NotYet, match=r"`shard.bin` was changed\. "):
        attempt.unharmed()
    shard.unlink()
    with pytest.raises(NotYet, match=r"`shard\.bin` is gone"):
        attempt.unharmed()


def test_a_type_is_told_by_more_than_its_name():
    class Liar(type):
        __flags__ = type.__flags__ | 1 << 8

    posing = Liar("bytearray", (bytearray,), {"__module__": "builtins", "__class__": bytearray})
    with mmap.mmap(-1, 1) as mapping:
        values = (bytearray(), None, mapping, np.zeros(1), posing())
        kinds = ["bytearray", "NoneType", "mmap.mmap", "numpy.ndarray", "class bytearray"]
        assert [inside.kind_of(value) for value in values] == kinds


def test_what_is_no_function_is_said(a_student: Path):
    one = exercise("02.chunks")
    assert one.check(None).outcome == "not attempted"
    assert "hand over the function itself, `check(copy_small)`" in one.check(5).because
    assert one.check(function("    ...")).outcome == "not attempted"
    assert one.attempts == 1
    verdict = one.check(os.link, size=MiB)
    assert (verdict.outcome, verdict.cause) == ("not yet", "not-carried")
    assert (
        verdict.because
        == "no cell shows its source. Define `copy_small` in a cell, and hand that over."
    )
    text = "async def copy_small(source, target): open(target, 'wb').close()"
    assert "calling it runs nothing" in one.check(one.made(text)).because


def test_a_check_leaves_no_process_and_no_file(tmp_path: Path):
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    body = "    import subprocess, time; subprocess.Popen(['sleep', '60']); time.sleep(60)"
    assert (
        "still running after 1 s"
        in exercise("02.chunks").check(function(body), size=MiB, timeout=1).because
    )
    assert {child.pid for child in psutil.Process().children(recursive=True)} == before
    assert not list((tmp_path / "data").iterdir())


@each_of(
    ("error", "ran", "cause", "said"),
    (OSError, True, "not-checked", "the check couldn't run: no"),
    (ValueError, False, "not-checked", "the check couldn't run: no"),
    (ValueError, True, "not-looked-at", "what it returned can't be looked at: no"),
)
def test_a_judge_that_fails_is_a_message(
    monkeypatch: pytest.MonkeyPatch, error, ran: bool, cause: str, said: str
):
    def judge(attempt: Attempt) -> Verdict:
        if ran:
            attempt.measure(lambda function: 1, memory_limit=64 * MiB)
        raise error("no")

    one = exercise("02.chunks")
    monkeypatch.setattr(exercise_files.check(one.folder), "judge", judge)
    verdict = one.check(function("    return a"))
    assert (verdict.cause, verdict.because) == (cause, said)


def test_hints_come_one_by_one_then_the_solution_after_a_try():
    one = exercise("02.chunks")
    assert "Try first" in repr(one.solution())
    assert one.solution_source == repr(one.solution(now=True))
    said = [repr(one.hint()) for _ in range(3)]
    assert said[0].startswith("Hint 1 of 2.")
    assert "1 more to come" in said[0]
    assert said[1].startswith("Hint 2 of 2.")
    assert "next step is the solution" in said[1]
    assert ".solution()" in said[2]
    one.check(function("    return a"), size=MiB)
    assert repr(one.solution()) == one.solution_source
    assert "<pre" in one.solution()._repr_html_()


def test_first_difference(tmp_path: Path):
    a = tmp_path / "a"
    b = tmp_path / "b"
    data = bytes(3 * MiB + 5)
    a.write_bytes(data)
    for other, at in (
        (data, None),
        (data[:-2], len(data) - 2),
        (data[: MiB + 7] + b"1" + data[MiB + 8 :], MiB + 7),
    ):
        b.write_bytes(other)
        assert first_difference(a, b) == first_difference(b, a) == at


# --- recorded -------------------------------------------------------------------------------------
def test_recorded_figures_stand_in_where_kinds_are_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    full = Comparison({"list": [measure(list, "ab")]})
    assert recorded("run", full) is full
    assert capsys.readouterr().out == ""
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    poor = Comparison({"list": [measure(list, "ab")]})
    assert recorded("run", poor) is poor
    assert "no recorded run 'run'" in capsys.readouterr().out
    (tmp_path / "run.json").write_text(json.dumps(full.to_json()))
    assert recorded("run", poor)["list"].peak.anonymous is not None
    assert str(full.machine) in capsys.readouterr().out
    assert recorded("run")["list"].peak.anonymous == full["list"].peak.anonymous
    assert capsys.readouterr().out == ""
    (tmp_path / "run.json").write_text("{")
    assert recorded("run", poor) is poor


@pytest.mark.skipif(os.name != "posix", reason="mount tables")
def test_a_cell_says_once_whose_figures_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """Several recorded runs from one machine make one line; the next cell prints it again."""
    shell = SimpleNamespace(execution_count=1)
    monkeypatch.setattr(sys.modules[read.__module__], "running_shell", lambda: shell)
    full = compare({"list": list}, "ab")
    (tmp_path / "run.json").write_text(json.dumps(full.to_json()))
    for shell.execution_count, lines in ((1, 1), (2, 1), (1, 1)):
        for _ in range(2):
            recorded("run", full, needs="no_such_library")
        assert capsys.readouterr().out.count("Recorded figures, made on") == lines
    made = [repr(claim("slurp-costs-file", True, "all of it")) for _ in range(2)]
    assert ["Recorded: Not measured here, but on another machine: run." in one for one in made] == [
        True,
        False,
    ]


def test_recorded_figures_stand_in_where_files_live_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "file").touch()
    for name, kind in (("on a disk", "ext4"), ("in memory", "tmpfs")):
        table = [SimpleNamespace(mountpoint=str(tmp_path), fstype=kind, opts="rw")]
        monkeypatch.setattr(psutil, "disk_partitions", lambda all, table=table: table)
        monkeypatch.setenv("ZERO_COPY_RECORD", "1" if name == "on a disk" else "0")
        assert (
            recorded(
                "run", measure(Path.read_bytes, tmp_path / "data" / "file")
            ).machine.file_system
            == "ext4"
        )
        said = capsys.readouterr().out
        assert ("These files are in memory (tmpfs): no disk to measure" in said) == (
            name == "in memory"
        )
    assert recorded("run", plain_run := measure(len, "no file")) is plain_run


def test_recorded_figures_stand_in_where_a_container_is_narrow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    full = Comparison({"list": [measure(list, "ab")]})
    (tmp_path / "run.json").write_text(json.dumps(full.to_json()))
    container = sys.modules[read.__module__]
    monkeypatch.setattr(container, "memory_left", lambda: (500 * MiB, GiB))
    for made in (full, lambda: pytest.fail("its processes could get the notebook killed")):
        assert recorded("run", made) is not full
        assert (
            "memory of 1 GiB, 500 MiB are left, and lessons need 512 MiB. Shut down"
            in capsys.readouterr().out
        )
    monkeypatch.setattr(container, "memory_left", lambda: (700 * MiB, GiB))
    assert recorded("run", full) is full
    assert capsys.readouterr().out == ""


def test_recorded_figures_stand_in_for_what_was_measured_while_memory_ran_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    full = Comparison({"list": [measure(list, "ab")]})
    (tmp_path / "run.json").write_text(json.dumps(full.to_json()))
    kills = [0]
    monkeypatch.setattr(sys.modules[read.__module__], "killed", lambda: kills[0])
    monkeypatch.setattr(sys.modules[read.__module__], "_killed", 0)

    def killed_during(value):
        kills[0] += 1
        # TypeError, as from a check of what the killed one should have written
        return value or len(value)

    for made in (lambda: killed_during(full), lambda: killed_during(None)):
        assert recorded("run", made) is not full
        assert "nothing was left, and a process was killed. Shut down" in capsys.readouterr().out
    assert recorded("run", lambda: full) is full
    assert capsys.readouterr().out == ""
    with pytest.raises(TypeError):
        recorded("run", lambda: len(None))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of recorded runs, while recording."""
    monkeypatch.setenv("ZERO_COPY_RECORD", "1")
    return tmp_path


@pytest.mark.measured
def test_recording_keeps_each_method_s_run_and_what_it_returned_if_that_is_short(recording: Path):
    full = compare({"list": list, "bytes": bytes, "long": lambda text: text * 5000}, "ab", repeat=2)
    assert recorded("run", full) is full
    assert full["list"].value == ["a", "b"]
    assert len(full["long"].value) == 10_000
    again = Comparison.from_json(json.loads((recording / "run.json").read_text()))
    assert again["list"].peak == full["list"].peak
    assert len(again.runs["list"]) == 1
    assert {name: run.value for name, run in again.items()} == {
        "list": ["a", "b"],
        "bytes": None,
        "long": None,
    }


@pytest.mark.measured
def test_recording_keeps_the_peaks_of_a_long_run(recording: Path):
    def spike() -> np.ndarray:
        time.sleep(0.3)
        block = bytearray(b"x" * 32 * MiB)
        time.sleep(0.02)
        del block
        time.sleep(0.3)
        return np.zeros((2, 0))

    full = recorded("run", measure(spike))
    again, _ = read(recording / "run.json")
    assert full.value.shape == (2, 0)
    assert again.value is None
    assert len(again.times) <= 200 < len(full.times)
    assert again.peak == full.peak
    assert [again.times[0], again.times[-1]] == [full.times[0], full.times[-1]]
    assert {len(getattr(again, kind)) for kind in ("anonymous", "file", "shared", "resident")} == {
        len(again.times)
    }
    assert (recording / "run.json").stat().st_size < 12_000


@pytest.mark.slow
def test_whatever_is_recorded_comes_back_where_it_cannot_be_measured(
    recording: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    """Each kind comes from a function that makes it: an ordinary run, one that dies, a film, shares
    of memory.
    """
    # this test's folder may be in memory
    monkeypatch.setattr(folders, "in_memory", lambda system: False)

    def film() -> Film:
        with Explorer(pages=4) as explorer:
            explorer.touch(1)
        return explorer.film

    makers = {
        "recording": lambda: measure(killed),
        "film": film,
        "sharing": lambda: workers(len, "ab", count=2),
    }
    full = {name: recorded(name, make) for name, make in makers.items()}
    assert full["recording"].ended == "SIGKILL"
    assert capsys.readouterr().out == ""
    monkeypatch.delenv("ZERO_COPY_RECORD")
    monkeypatch.setattr(sampler, "choose", lambda: sampler.Portable)
    monkeypatch.setattr(maps, "why_not", lambda: "a test")
    for name, make in makers.items():
        again = recorded(name, make)
        assert type(again) is type(full[name])
        assert repr(again) == repr(full[name])
        assert f"Recorded figures, made on: {here().system}" in capsys.readouterr().out
    with pytest.raises(NotMeasuredHere, match="no namespaces"):
        recorded("never made", refuses)
    with pytest.raises(NotMeasuredHere, match="the library no_such_thing is not installed"):
        recorded("never made", refuses, needs="no_such_thing")
    assert recorded("sharing", refuses).rows[0].value == 2
    assert "Not measured here: no namespaces. Recorded figures" in capsys.readouterr().out


def killed() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def refuses() -> None:
    raise NotMeasuredHere("no namespaces")


# --- words ----------------------------------------------------------------------------------------
def test_words_become_html():
    assert (
        inline("a `<b>` **c** & 2*3*4") == "a <code>&lt;b&gt;</code> <strong>c</strong> &amp; 2*3*4"
    )
    literal = "__init__, *args, a[0](x) and <pid>"
    assert inline(literal) == literal.replace("<", "&lt;").replace(">", "&gt;")
    text = "one\ntwo\n\n- a\n- b `c`\n\n```python\nx = 1\n\n<b>\n```\n\n<script>alert()</script>"
    assert (
        paragraphs(text).replace("\n", "")
        == "<p>onetwo</p><ul><li>a</li><li>b <code>c</code></li></ul>"
        f"{block('x = 1<b>')}<p>&lt;script&gt;alert()&lt;/script&gt;</p>"
    )
    assert plain(text).startswith("one\ntwo\n\n- a\n- b c\n\n    x = 1\n\n    <b>\n\n<script>")


# --- in a real kernel -----------------------------------------------------------------------------
def test_in_a_notebook_everything_is_shown_with_words(tmp_path: Path):
    sources = [
        "from helpers.teach import exercise, predict, quiz",
        'guess = predict("t.peaks", "How much?", each=["read", "mmap"])\nguess',
        'predict("t.order", "Which?", order=["a", "b"])',
        'predict("t.choice", "Which?", choices=["a", "b"])',
        'guess.beside({"read": 2**20, "mmap": 0})',
        'quiz("02.counter")',
        'exercise("02.chunks")',
        'exercise("02.chunks").check(lambda a, b: None, size="2 MiB")',
        'exercise("02.chunks").hint()',
        'exercise("02.chunks").solution()',
    ]
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    ran = NotebookClient(notebook, timeout=120, km=kernel(tmp_path)).execute(cleanup_kc=True)
    shown = []
    for cell in ran.cells[1:]:
        *view, output = cell.outputs
        asks = cell.source.startswith(("predict", "guess = ", "quiz"))
        assert [each.data.keys() for each in view] == [{VIEW, "text/html"}] * asks
        assert {"text/html", "text/plain"} <= set(output.data), cell.source
        shown.append(output.data)
    nbformat.validate(ran)
    assert all(
        static_html(data["text/html"]).startswith('<div class="zc-predict"') for data in shown[:3]
    )
    assert shown[0]["text/html"].count('aria-label="blank to write on"') == 2
    assert 'data-outcome="not ' in shown[6]["text/html"]
    assert "def copy_small" in shown[8]["text/html"]


# --- nothing is lost, nothing is taken for something else -----------------------------------------
def test_what_is_kept_is_not_lost_by_one_failed_read(
    a_student: Path, monkeypatch: pytest.MonkeyPatch
):
    state.keep("some", "a", 1)
    with monkeypatch.context() as broken:
        broken.setattr(
            state, "content", lambda path: (_ for _ in ()).throw(PermissionError("busy"))
        )
        assert state.keep("some", "b", 2) is False
        assert state.read("some") == {"b": 2}
    assert state.read("some") == {"a": 1, "b": 2}


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("256", 256),
        ("1,024", 1024),
        ("0.5 GiB", 512),
        (".5", 0.5),
        ("", None),
        ("0,5", 0.5),
        ("1,5", 1.5),
        ("12,34", 12.34),
        ("0,125", 0.125),
        ("0,5GiB", 512),
        ("1,024.5", 1024.5),
        ("1 024", 1024),
    ],
)
def test_numbers_as_people_type_them(text: str, number: float | None):
    assert amount(text, "MiB") == number


def test_a_sign_is_a_unit_too():
    assert amount("50 %", "%") == amount("50%", "%") == 50


@pytest.mark.parametrize("text", ["1.024,5", "1,5,5", "many", "1..5", "5 MB", ","])
def test_what_is_typed_and_is_no_number(text: str):
    with pytest.raises(ValueError, match="is not a number of MiB; write"):
        amount(text, "MiB")
