"""What travels with a function from a student's cells: what it needs, as the kernel had it, and nothing else."""

import linecache
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from traitlets.config import Config

from helpers.teach import inside, source
from helpers.teach.source import Source, taken


def cells(*texts: str) -> list[tuple[str, str]]:
    return [(f"cell {n}", textwrap.dedent(text).strip("\n")) for n, text in enumerate(texts, 1)]


def made(found: Source) -> dict:
    space = {"__name__": "__main__"} | found.values
    for step in found.steps:
        exec(step, space)
    return space


def lines(found: Source) -> list[tuple[str, int]]:
    return [(step.co_filename, next(n for *_, n in step.co_lines() if n)) for step in found.steps]


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["import math as m\ndef f(): return m.pi > 3"], True),
        (["from os import path, sep as s\ndef f(): return path.join('a', 'b') == f'a{s}b'"], True),
        (["import xml.dom\nimport xml.sax", "def f(): return xml.dom.__name__ + xml.sax.__name__"], "xml.domxml.sax"),
        (["from math import *\nfrom string import *\ndef f(): return floor(2.5), digits[:2]"], (2, "01")),
        (["K = 1", "def h(): return K", "def f(): return h()", "K = 2"], 2),  # looked up at the call
        (["def h(): return 1", "def f(): return h()", "def h(): return 2"], 2),  # f before the later h
        (["def h(): return 1", "def h(): return 2", "def f(): return h()"], 2),  # f after it
        (["def h(): return 1", "g = h", "def h(): return 2", "def f(): return g()"], 1),
        (["K = 1\ndef f(a=K): return a\nK = 2"], 1),  # a default value is what it was
        (["n = 1\nn += 1\nn = n * 5", "def f(): return n"], 10),
        (["n: int = 3\nm: str\ndef f(): return n"], 3),
        (["(a, *b), c = (1, 2, 3), 4\ndef f(): return a, b, c"], (1, [2, 3], 4)),
        (["if (n := 3) > 2:\n    def h(): return n\nelse:\n    h = None\ndef f(): return h()"], 3),
        (["try:\n    import no_such_module as one\nexcept ImportError:\n    one = None\ndef f(): return one"], None),
        (["with open('/dev/null') as file:\n    text = file.read()\ndef f(): return text"], ""),
        (["T = []\nfor i in range(3):\n    T.append(i)\ndef f(): return T"], [0, 1, 2]),
        (["T = {}\nT['a'] = 1", "T['b'] = 2\ndel T['a']\ndef f(): return T"], {"b": 2}),
        (["import functools", "@functools.cache\ndef f(): return 3\nf.cache_clear()"], 3),
        (["def twice(g): return lambda: 2 * g()", "@twice\ndef f(): return 4"], 8),
        (["HOW = {}\ndef how(name):\n    def keep(g): HOW[name] = g; return g\n    return keep",
          "@how('one')\ndef one(): return two()", "def two(): return 2", "def f(): return HOW['one']()"], 2),
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
        (["N = None\ndef setup():\n    global N\n    N = 7\nsetup()\ndef f(): return N"], 7),
        (["N = None\ndef inner():\n    global N\n    N = 7\n    return N", "def setup(): return inner()",
          "done = setup()", "def f(): return N"], 7),
        (["def f():\n    f.calls += 1\n    return f.calls\nf.calls = 2"], 3),
        (["def f(): return f.unit", "setattr(f, 'unit', 'B')"], "B"),
        (["K = 1\ndef f():\n    K = 2\n    return K"], 2),
        (["rows = [x for x in range(3) if x]\ndef f(): return [r for r in rows]"], [1, 2]),
        (["from __future__ import annotations", "def f(a: NoSuchName = 3): return a, f.__annotations__['a']"],
         (3, "NoSuchName")),
        (["def f(): return 1", "this is not Python", "def f(: return 3"], 1),
        (["%matplotlib inline\nimport os\n!ls\nhere = os.sep\ndef f(): return here"], "/"),
        (["%%time\ndef h(): return 1\n", "def f(): return h()"], 1),
        (["import unused_and_missing", "1/0\ndef f(): return 1"], 1),
    ],
)  # fmt: skip
def test_a_function_does_in_a_fresh_place_what_it_does_in_the_notebook(texts: list[str], result: object):
    assert made(taken(cells(*texts), "f"))["f"]() == result


@pytest.mark.parametrize(
    ("texts", "carried"),
    [
        (["K = 1; L = 2\ndef f(): return K\nprint(f())\nf()\nx = f()"], [("cell 1", 1), ("cell 1", 2)]),
        (["K = 1", "K = 2", "def f(): return K"], [("cell 2", 1), ("cell 3", 1)]),
        (["def f(): return h()\ndef h(): return data()", "import os\ndef data(): return 1"],
         [("cell 1", 1), ("cell 1", 2), ("cell 2", 2)]),
        (["import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()\ndef f(): return plt"],
         [("cell 1", 1), ("cell 1", 4)]),
        (["from helpers.teach import exercise\nfor g in (1, 2):\n    exercise('02.chunks').check(g)",
          "def f(): return g"], [("cell 2", 1)]),
        (["n = 1\ndef f():\n    n = 2\n    return [n for n in (3,)]"], [("cell 1", 2)]),
        (["import random\ndef trial(): random.seed(1)\ntrial()", "def f(): return random"],
         [("cell 1", 1), ("cell 2", 1)]),
    ],
)  # fmt: skip
def test_nothing_else_travels(texts: list[str], carried: list[tuple[str, int]]):
    assert lines(taken(cells(*texts), "f")) == carried


def test_the_places_of_a_traceback_are_the_student_s():
    found = taken(cells("K = 1\n\n\ndef h():\n    return 1 / 0", "def f():\n    return h()"), "f")
    with pytest.raises(ZeroDivisionError) as error:
        made(found)["f"]()
    seen = [(entry.frame.code.raw.co_filename, entry.lineno + 1) for entry in error.traceback[1:]]
    assert seen == [("cell 2", 2), ("cell 1", 5)]
    assert found.line(5, "cell 1") == "return 1 / 0" and found.line(2) == "return h()" and found.line(9) == ""


def test_reading_executes_and_imports_nothing(tmp_path: Path):
    file = tmp_path / "ran"
    texts = cells(
        f"open({str(file)!r}, 'w')\nimport antigravity",
        f"K = open({str(file)!r}, 'w').close()\nclass A:\n    x = open({str(file)!r}, 'w')",
        "def f(a=A()): return K, antigravity, input()",
    )
    found = taken(texts, "f")
    assert len(found.steps) == 4 and "antigravity" in found.modules
    assert not file.exists() and "antigravity" not in sys.modules


@pytest.fixture
def handed_over(
    room_for_a_shell: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> Iterator[Callable]:
    """Runs cells in IPython, as far as they go. Returns `f` as `of` finds it, made again in a fresh namespace."""
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    shell = InteractiveShell.instance(config=Config(HistoryManager={"enabled": False}))

    def executed(*texts: str) -> Callable:
        shell.reset(new_session=True)
        for text in texts:
            shell.run_cell(text, store_history=True)
        return made(shell.user_ns.get("found") or source.of(shell.user_ns["f"], "f"))["f"]

    yield executed
    InteractiveShell.clear_instance()


@pytest.mark.parametrize(
    ("texts", "result"),
    [
        (["K = 1\n\n1 / 0\nK = 2", "def f(): return K"], 1),
        (["K = 1", "x = (\n  2,\n  1 / 0); K = 2", "def f(): return K"], 1),
        (["T = {}", "T['a'] = mistyped", "T['a'] = 1\ndef f(): return T"], {"a": 1}),
        (["with open('no such file') as file: text = file.read()",
          "with open('/dev/null') as file: text = file.read()", "def f(): return text"], ""),
        (["def h():\n    try: 1 / 0\n    except ZeroDivisionError as e: raise ValueError from e\nK = 1\nh()\nK = 2",
          "def f(): return K"], 1),
        (["def f(): return 1", "1 / 0\ndef f(): return 2"], 1),
        (["%%time\nK = 1\n1 / 0\nK = 2", "def f(): return K"], 1),
    ],
)  # fmt: skip
def test_what_a_cell_that_raised_did_not_reach_does_not_count(texts: list[str], result: object, handed_over: Callable):
    assert handed_over(*texts)() == result


def test_of_several_versions_in_a_cell_the_one_handed_over_is_meant(handed_over: Callable):
    ask = "from helpers.teach import source\n"
    assert handed_over(ask + "def f(): return 1\nfound = source.of(f, 'f')\ndef f(): return 2")() == 1
    assert handed_over("def f(): return 1", "g = f", "def f(): return g() + 1")() == 2


def test_what_a_cell_printed_is_not_asked_for_again(handed_over: Callable):
    assert handed_over("3 + 4", "n = _", "'something else'", "def f(): return n")() == 7


def test_what_a_function_displays_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture):
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    found = taken(cells("def f(): display(1, 2)"), "f")
    inside.started("f", found.steps, found.texts, found.values, lambda f: f())
    assert capsys.readouterr().out == "1 2\n"


def test_what_no_cell_makes_travels_by_value_and_is_named_where_it_cannot(tmp_path: Path):
    texts = cells("name = input('your name?')", "def f(): return name, given")
    space = {"name": "Ada", "given": [1, 2], "unused": open}
    assert made(taken(texts, "f", space))["f"]() == ("Ada", [1, 2])
    with (
        open(tmp_path / "file", "w") as file,
        pytest.raises(TypeError, match=r"^`given` cannot be carried to a fresh process .*and no cell makes it"),
    ):
        taken(texts, "f", space | {"given": file})
    with pytest.raises(LookupError, match="no cell defines 'g'"):
        taken(texts, "g", space)


@pytest.mark.parametrize("text", ["(" * 5000, "x = " + "-" * 100_000 + "1", "\0", "\ud800", "f = 1" + "0" * 10_000])
def test_text_that_no_compiler_takes_is_passed_over(text: str):
    assert made(taken(cells("def f(): return 1", text), "f"))["f"] is not None


def test_installed_modules_are_told_from_the_student_s(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "my_own.py").write_text("import json")
    (tmp_path / "my_space").mkdir()
    (tmp_path / "my_space" / "part.py").write_text("")
    (tmp_path / "colorsys.py").write_text("")  # it hides Python's own
    monkeypatch.syspath_prepend(tmp_path)
    text = """
        def f():
            import my_own, my_space.part, colorsys, missing_one, xml.dom.minidom
            from helpers.measure import where, maps
            from numpy import lib, float32
            def g():
                import mmap as m
    """
    wanted = {"xml.dom.minidom", "helpers.measure", "helpers.measure.maps", "numpy", "numpy.lib", "mmap"}
    assert set(taken(cells(text), "f").modules) == wanted


def test_a_function_is_found_by_the_name_it_has_now(tmp_path: Path):
    file = str(tmp_path / "answer.py")
    text = "from functools import cache\n@cache\ndef h(a): return a\ncopy = h\nclass C:\n    def f(self): return 1\n"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    space: dict = {}
    exec(compile(text, file, "exec"), space)
    assert source.of(space["copy"], "copy").name == "copy"
    assert source.of(space["copy"], "another").name == "h"
    by_value = source.of(space["C"]().f, "copy")
    assert by_value.steps == () and list(by_value.values) == ["copy"]
