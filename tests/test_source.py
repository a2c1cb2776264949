"""What travels with a function from a student's cells: what it needs, as they say it, and nothing else."""

import linecache
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell

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


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["import math as m\ndef f(): return m.pi > 3"], True),
        (["from os import path, sep as s\ndef f(): return path.join('a', 'b') == f'a{s}b'"], True),
        (["import xml.dom\nimport xml.sax", "def f(): return xml.dom.__name__ + xml.sax.__name__"], "xml.domxml.sax"),
        (["from math import *\nfrom string import *\ndef f(): return floor(2.5), digits[:2]"], (2, "01")),
        (["def h(): return 1", "def h(): return 2", "def f(): return h()"], 2),
        (["def f(): return h(), K", "@cache\ndef h(): return K\nK = 2\nfrom functools import cache"], (2, 2)),
        (["K = 1\ndef f(a=K): return a"], 1),
        (["n = 1\nn += 1\nn = n * 5", "def f(): return n"], 10),
        (["n: int = 3\nm: str\ndef f(): return n"], 3),
        (["(a, *b), c = (1, 2, 3), 4\ndef f(): return a, b, c"], (1, [2, 3], 4)),
        (["if (n := 3) > 2:\n    def h(): return n\nelse:\n    h = None\ndef f(): return h()"], 3),
        (["try:\n    import no_such_module as one\nexcept ImportError:\n    one = None\ndef f(): return one"], None),
        (["T = []\nfor i in range(3):\n    T.append(i)\ndef f(): return T"], [0, 1, 2]),
        (["T = {}\nT['a'] = 1", "T['b'] = 2\ndel T['a']\ndef f(): return T"], {"b": 2}),
        (["import functools", "@functools.cache\ndef f(): return 3\nf.cache_clear()"], 3),
        (["def twice(g): return lambda: 2 * g()", "@twice\ndef f(): return 4"], 8),
        (["from functools import singledispatch\n@singledispatch\ndef g(x): return 'any'",
          "@g.register\ndef _(x: int): return 'int'\ndef f(): return g(1)"], "int"),
        (["from ctypes import CFUNCTYPE, Structure, c_double, c_size_t, sizeof\nINFER = CFUNCTYPE(c_double, c_double)",
          "class Table(Structure): pass\nTable._fields_ = [('words', c_size_t * 2), ('infer', INFER)]",
          "def f(): return sizeof(Table), INFER(lambda x: 2 * x)(1.5)"], (24, 3.0)),
        (["import ctypes\nlib = ctypes.pythonapi\nlib.Py_GetVersion.restype = ctypes.c_char_p",
          "def f(): return lib.Py_GetVersion()[:2]"], b"3."),
        (["from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int = 1\n    def h(self): return K * self.x",
          "K = 3\ndef f(): return P(2).h()"], 6),
        (["class A:\n    one = 1\n    def h(self): return self.one\nclass B(A): one = 2",
          "def f(): return B().h()"], 2),
        (["class Call:\n    def __call__(self): return 5\nf = Call()"], 5),
        (["from functools import partial\ndef h(a): return a + K\nK = 1\nf = partial(h, 1)"], 2),
        (["K = 2\nf = lambda: K"], 2),
        (["def outer(n):\n    def inner(): return n + K\n    return inner\nK = 1\nf = outer(2)"], 3),
        (["def h(): return 1\nf = h"], 1),
        (["def f():\n    f.calls += 1\n    return f.calls\nf.calls = 2"], 3),
        (["K = 1\ndef f():\n    K = 2\n    return K"], 2),
        (["rows = [x for x in range(3) if x]\ndef f(): return [r for r in rows]"], [1, 2]),
        (["from helpers.units import size\nN = size('1 KiB')", "def f(): return N"], 1024),
        (["def f(): return 1", "this is not Python", "def f(: return 3"], 1),
        (["%matplotlib inline\nimport os\n!ls\nhere = os.sep\ndef f(): return here"], "/"),
        (["%%time\ndef h(): return 1\n", "def f(): return h()"], 1),
        (["import unused_and_missing", "1/0\ndef f(): return 1"], 1),
    ],
)  # fmt: skip
def test_a_function_does_in_a_fresh_place_what_it_does_in_the_notebook(texts: list[str], result: object):
    assert made(source_named(cells(*texts), "f"))["f"]() == result


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["from helpers.teach import recorded\nfrom helpers.measure import compare\nswept = recorded('x', compare({}))",
          "best = min(swept, key=lambda n: swept[n].wall)", "def f(): return best"],
         "`best` isn't there: your notebook made it with `compare`. Write its value into the function, as in `best"),
        (["from helpers.measure import measure\ndef took(): return measure(len, 'ab').wall", "t = took()",
          "def f(): return t"], "`t` isn't there: your notebook made it with `measure`"),
        (["with open('kept') as file: text = file.read()", "def f(a=text): return a"], "`text` .* with `open`"),
        (["name = input('your name?')", "def f(): return name"], "`name` .* with `input`"),
        (["files = !ls", "def f(): return files"], "`files` .* with `get_ipython`"),
        (["async def g(): return 1", "one = await g()", "def f(): return one"], "`one` .* with `await`"),
        (["3", "n = _", "def f(): return n"], "`n` .* with `_`"),
        (["import my_own_file as own", "def f(): return own.x"], "`my_own_file` comes neither with Python nor"),
    ],
)  # fmt: skip
def test_what_only_the_notebook_has_is_named(texts: list[str], said: str):
    with pytest.raises(NotCarried, match=said):
        source_named(cells(*texts), "f")


@pytest.mark.parametrize(
    ("texts", "carried"),
    [
        (["K = 1; L = 2\ndef f(): return K\nprint(f())\nf()\nx = f()"], {("cell 1", 1), ("cell 1", 2)}),
        (["K = 1", "K = 2", "def f(): return K"], {("cell 2", 1), ("cell 3", 1)}),
        (["def f(): return h()\ndef h(): return data()", "import os\ndef data(): return 1"],
         {("cell 1", 1), ("cell 1", 2), ("cell 2", 2)}),
        (["import matplotlib.pyplot as plt, os\nplt.plot([1])\nif os: plt.show()\ndef f(): return plt"],
         {("cell 1", 1), ("cell 1", 4)}),
        (["from helpers.measure import where\ndef f(): return where"], {("cell 1", 1), ("cell 1", 2)}),
        (["n = 1\ndef f():\n    n = 2\n    return [n for n in (3,)]"], {("cell 1", 2)}),
    ],
)  # fmt: skip
def test_nothing_else_travels(texts: list[str], carried: set[tuple[str, int]]):
    assert lines(source_named(cells(*texts), "f")) == carried


def test_the_places_of_a_traceback_are_the_student_s():
    found = source_named(cells("K = 1\n\n\ndef h():\n    return 1 / 0", "def f():\n    return h()"), "f")
    with pytest.raises(ZeroDivisionError) as error:
        made(found)["f"]()
    seen = [(entry.frame.code.raw.co_filename, entry.lineno + 1) for entry in error.traceback[1:]]
    assert seen == [("cell 2", 2), ("cell 1", 5)]
    assert found.line(5, "cell 1") == "return 1 / 0" and found.line(2) == "return h()" and found.line(9) == ""


def test_reading_executes_and_imports_nothing(tmp_path: Path):
    file = tmp_path / "ran"
    texts = cells(
        f"from io import open_code\nopen_code({str(file)!r})\nimport antigravity",
        f"K = open_code({str(file)!r})\nclass A:\n    x = open({str(file)!r}, 'w')",
        "def f(a=A()): return K, antigravity, input()",
    )
    found = source_named(texts, "f")
    assert len(found.steps) == 5 and "antigravity" in found.modules
    assert not file.exists() and "antigravity" not in sys.modules


@pytest.fixture
def handed_over(shell: InteractiveShell, capsys: pytest.CaptureFixture) -> Callable:
    """Runs cells in IPython, as far as they go. Returns what `check` makes of the last function handed over to it."""
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


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["K = 1\n\n1 / 0\nK = 2", "def f(): return K"], 1),
        (["K = 1", "x = (\n  2,\n  1 / 0); K = 2", "def f(): return K"], 1),
        (["T = {}", "T['a'] = mistyped", "T['a'] = 1\ndef f(): return T"], {"a": 1}),
        (["def h():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError from e\nK = 1\nh()\nK = 2",
          "def f(): return K"], 1),
        (["def f(): return 1", "1 / 0\ndef f(): return 2"], 1),
        (["%%time\nimport os\n\ndef f(): return 1\n\nexercise('02.f').check(f)\ndef f(): return 2", "del f"], 1),
        (["def f(): return 1", "g = f", "def f(): return 2"], 2),
        (["def f(): return 1\n\nexercise('02.f').check(f)\ndef f(): return 2\n1 / 0"], 2),
    ],
)  # fmt: skip
def test_what_a_cell_that_raised_did_not_reach_does_not_count(texts: list[str], result: object, handed_over: Callable):
    assert handed_over(*texts)() == result


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["def f(): return 1\nexercise('02.f').check(f)\ndef f(): return 2\nexercise('02.f').check(f)", "del f"], 2),
        (["def f(): return 1\nexercise('02.f').check(f)\ndef f(): return 2", "del f"], 1),
        (["def own(): return 1", "one = exercise('02.f')", "one.check(own)"], 1),
        (["from functools import partial\ndef h(n): return n", "exercise('02.f').check(partial(h, 3))"], 3),
        (["exercise('02.f').check(lambda: 4)"], 4),
        (["def f(): return 1", "def g(): return 2", "for one in (g, f):\n    exercise('02.f').check(one)", "del f"], 1),
        (["def f(): return h()", "def h(): return 1", "1 / 0\ndef h(): return 2"], 1),
    ],
)  # fmt: skip
def test_what_is_handed_over_counts(texts: list[str], result: object, handed_over: Callable):
    assert handed_over(*texts)() == result


def test_what_no_cell_makes_is_named(handed_over: Callable, capsys: pytest.CaptureFixture):
    handed_over("def f(): return 1\nexercise('02.f').check(f)", "globals()['hidden'] = 1\ndef f(): return hidden")
    assert "`hidden` isn't there: no cell shows how it's made" in capsys.readouterr().out


def test_a_verdict_names_the_cell_that_was_judged_if_it_is_another(shell: InteractiveShell):
    shell.user_ns["sample"] = sample = exercise("10.save")
    check = f"verdict = sample.check({sample.name}, size='1 MiB')"
    for text, judged in ((f"{sample.solution_source}\n{check}", ""), (check, f"`{sample.name}` of cell [1]")):
        shell.run_cell(text, store_history=True)
        assert shell.user_ns["verdict"].judged == judged
    assert repr(shell.user_ns["verdict"]).endswith(f"\nJudged: {sample.name} of cell [1]")


def test_a_file_that_a_cell_runs_is_read(shell: InteractiveShell, tmp_path: Path):
    """As Spyder does it: its functions aren't the kernel's yet."""
    (tmp_path / "mine.py").write_text("K = 3\ndef f(): return K\nfound = handed_over(f, 'f', '02.f')")
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


@pytest.mark.parametrize("text", ["(" * 5000, "x = " + "-" * 10_000 + "1", "\0", "\ud800", "f = 1" + "0" * 10_000])
def test_text_that_no_compiler_takes_is_passed_over(text: str):
    assert made(source_named(cells("def f(): return 1", text), "f"))["f"] is not None


def test_installed_modules_are_told_from_the_student_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "my_own.py").write_text("import json")
    (tmp_path / "my_space").mkdir()
    (tmp_path / "my_space" / "part.py").write_text("")
    (tmp_path / "colorsys.py").write_text("")  # it hides Python's own
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)  # a library that imports Python's may be here
    text = """
        def f():
            import my_own, my_space.part, colorsys, missing_one, xml.dom.minidom
            from helpers.measure import maps
            from numpy import lib
            def g():
                import mmap as m
    """
    wanted = {"xml.dom.minidom", "helpers.measure", "helpers.measure.maps", "numpy", "numpy.lib", "mmap"}
    assert set(source_named(cells(text), "f").modules) == wanted


def test_a_function_is_found_by_the_name_it_has_now(tmp_path: Path):
    file = str(tmp_path / "answer.py")
    text = "from functools import cache\n@cache\ndef h(a): return a\ncopy = h\nclass C:\n    def f(self): return 1\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict = {}
    exec(compile(text, file, "exec"), space)
    assert source.handed_over(space["copy"], "copy", "02.f").name == "copy"
    assert source.handed_over(space["copy"], "another", "02.f").name == "h"
    for nameless in (space["C"]().f, len, lambda: 1):
        with pytest.raises(NotCarried, match=r"no cell shows its source\. Define `another` in a cell"):
            source.handed_over(nameless, "another", "02.f")
