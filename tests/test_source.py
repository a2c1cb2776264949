"""What travels with a function from a student's cells: what it needs, as they say it, and nothing
else.
"""

import linecache
import sys
import textwrap
from ast import literal_eval
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from tables import each

from helpers.teach import inside, source
from helpers.teach.exercises import exercise
from helpers.teach.source import NotCarried, Source, source_named


def cells(*texts: str) -> list[tuple[str, str]]:
    return [(f"cell {n}", textwrap.dedent(text).strip("\n")) for n, text in enumerate(texts, 1)]


def made(found: Source) -> dict:
    space = {"__name__": "__main__"}
    for step in found.steps:
        exec(step, space)
    return space


def lines(found: Source) -> set[tuple[str, int]]:
    return {(step.co_filename, next(n for *_, n in step.co_lines() if n)) for step in found.steps}


@each("source", "fresh")
def test_a_function_does_in_a_fresh_place_what_it_does_in_the_notebook(
    texts: list[str], result: str
):
    assert made(source_named(cells(*texts), "f"))["f"]() == literal_eval(result)


@each("source", "named")
def test_what_only_the_notebook_has_is_named(texts: list[str], said: str):
    with pytest.raises(NotCarried, match=said):
        source_named(cells(*texts), "f")


@each("source", "carried")
def test_nothing_else_travels(texts: list[str], carried: str):
    assert lines(source_named(cells(*texts), "f")) == literal_eval(carried)


def test_the_places_of_a_traceback_are_the_student_s():
    found = source_named(
        cells("K = 1\n\n\ndef h():\n    return 1 / 0", "def f():\n    return h()"), "f"
    )
    with pytest.raises(ZeroDivisionError) as error:
        made(found)["f"]()
    seen = [(entry.frame.code.raw.co_filename, entry.lineno + 1) for entry in error.traceback[1:]]
    assert seen == [("cell 2", 2), ("cell 1", 5)]
    assert found.line(5, "cell 1") == "return 1 / 0"
    assert found.line(2) == "return h()"
    assert found.line(9) == ""


def test_reading_executes_and_imports_nothing(tmp_path: Path):
    file = tmp_path / "ran"
    texts = cells(
        f"from io import open_code\nopen_code({str(file)!r})\nimport antigravity",
        f"K = open_code({str(file)!r})\nclass A:\n    x = open({str(file)!r}, 'w')",
        "def f(a=A()): return K, antigravity, input()",
    )
    found = source_named(texts, "f")
    assert len(found.steps) == 5
    assert "antigravity" in found.modules
    assert not file.exists()
    assert "antigravity" not in sys.modules


@pytest.fixture
def handed_over(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> Callable:
    """Runs cells in IPython, as far as they go. Returns what `check` makes of the last function
    handed over to it.
    """
    found = []

    class Asked:
        def check(self, function: Callable) -> None:
            found.append(source.handed_over(function, "f", "02.f"))

    def executed(*texts: str) -> Callable:
        shell.user_ns["exercise"] = lambda key: Asked()
        for text in (*texts, CHECK):
            shell.run_cell(text, store_history=True)
        return made(found[-1])[found[-1].name]

    return executed


CHECK = "if 'f' in globals(): exercise('02.f').check(f)"


@each("source", "so_far")
def test_what_the_running_cell_has_not_reached_does_not_count(
    texts: list[str], result: str, handed_over: Callable
):
    assert handed_over(*texts)() == literal_eval(result)


@each("source", "handed_over")
def test_what_is_handed_over_counts(texts: list[str], result: str, handed_over: Callable):
    assert handed_over(*texts)() == literal_eval(result)


def test_what_no_cell_makes_is_named(handed_over: Callable, capsys: pytest.CaptureFixture):
    handed_over(
        "def f(): return 1\nexercise('02.f').check(f)",
        "globals()['hidden'] = 1\ndef f(): return hidden",
    )
    assert "`hidden` isn't there: no cell shows how it's made" in capsys.readouterr().out


def test_a_verdict_names_the_cell_that_was_judged_if_it_is_another(shell: InteractiveShell):
    shell.user_ns["sample"] = sample = exercise("10.save")
    check = f"verdict = sample.check({sample.name}, size='1 MiB')"
    for text, judged in (
        (f"{sample.solution_source}\n{check}", ""),
        (check, f"`{sample.name}` of cell [1]"),
    ):
        shell.run_cell(text, store_history=True)
        assert shell.user_ns["verdict"].judged == judged
    assert repr(shell.user_ns["verdict"]).endswith(f"\nJudged: {sample.name} of cell [1]")


def test_a_file_that_a_cell_runs_is_read(shell: InteractiveShell, tmp_path: Path):
    """As Spyder does it: its functions aren't the kernel's yet."""
    (tmp_path / "mine.py").write_text(
        "K = 3\ndef f(): return K\nfound = handed_over(f, 'f', '02.f')"
    )
    shell.user_ns["handed_over"] = source.handed_over
    shell.run_cell(f"%run -i {tmp_path / 'mine.py'}", store_history=True)
    assert made(shell.user_ns["found"])["f"]() == 3


def test_what_a_function_displays_is_printed_and_a_line_for_the_shell_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    found = source_named(cells("def f():\n    display(1, 2)\n    !ls"), "f")
    with pytest.raises(RuntimeError, match=r"`!…` and `%…` work only in a notebook's cell"):
        inside.started("f", found.steps, found.texts, lambda f: f())
    assert capsys.readouterr().out == "1 2\n"


@pytest.mark.parametrize(
    "text", ["(" * 5000, "x = " + "-" * 10_000 + "1", "\0", "\ud800", "f = 1" + "0" * 10_000]
)
def test_text_that_no_compiler_takes_is_passed_over(text: str):
    assert made(source_named(cells("def f(): return 1", text), "f"))["f"] is not None


def test_installed_modules_are_told_from_the_student_s(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "my_own.py").write_text("import json")
    (tmp_path / "my_space").mkdir()
    (tmp_path / "my_space" / "part.py").write_text("")
    (tmp_path / "colorsys.py").write_text("")  # it hides Python's own
    monkeypatch.syspath_prepend(tmp_path)
    # a library that imports Python's may be here
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    text = """
        def f():
            import my_own, my_space.part, colorsys, missing_one, xml.dom.minidom
            from helpers.measure import maps
            from numpy import lib
            def g():
                import mmap as m
    """
    wanted = {
        "xml.dom.minidom",
        "helpers.measure",
        "helpers.measure.maps",
        "numpy",
        "numpy.lib",
        "mmap",
    }
    assert set(source_named(cells(text), "f").modules) == wanted


def test_a_function_is_found_by_the_name_it_has_now(tmp_path: Path):
    file = str(tmp_path / "answer.py")
    text = (
        "from functools import cache\n@cache\ndef h(a): return a\ncopy = h\nclass C:\n    def "
        "f(self): return 1\n"
    )
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict = {}
    exec(compile(text, file, "exec"), space)
    assert source.handed_over(space["copy"], "copy", "02.f").name == "copy"
    assert source.handed_over(space["copy"], "another", "02.f").name == "h"
    for nameless in (space["C"]().f, len, lambda: 1):
        with pytest.raises(
            NotCarried, match=r"no cell shows its source\. Define `another` in a cell"
        ):
            source.handed_over(nameless, "another", "02.f")
