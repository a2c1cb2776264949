import gc
import mmap
import os
import subprocess
import sys
import threading
import tomllib
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from helpers.ideas.carts import MappedFile
from helpers.ideas.yoke import Yoke
from helpers.libc import map_pages, unmap_pages
from helpers.measure import chains, holders, maps, measure, who_holds
from helpers.measure.holders import Holding
from helpers.measure.maps import regions

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="which file a mapping shows is told by /proc"
)

# Lessons, and who then holds a file or an object.
CASES = tomllib.loads(Path(__file__).with_name("sample_holders.toml").read_text(encoding="utf-8"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (path := tmp_path / "weights.bin").write_bytes(bytes(2**16))
    return path


@pytest.fixture(scope="module")
def known() -> Iterator[set[int]]:
    """The ids of the objects that existed before these tests."""
    gc.unfreeze()
    before = [one for one in gc.get_objects() if one is not vars(sys)]
    yield set(map(id, before))


@pytest.fixture
def quick(known: set[int], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Doesn't search objects that existed before, only to save time. And no collector tidies up
    after who_holds.
    """
    searched = SimpleNamespace(
        is_tracked=gc.is_tracked,
        get_objects=gc.get_objects,  # leaves out the frozen ones
        get_referrers=gc.get_referrers,
        get_referents=lambda *some: gc.get_referents(
            *(one for one in some if id(one) not in known)
        ),
    )
    monkeypatch.setattr(chains, "gc", searched)
    gc.disable()
    gc.freeze()
    yield
    gc.unfreeze()
    gc.enable()


@pytest.fixture
def lesson(path: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> dict:
    """A module's namespace, like a student's."""
    module = ModuleType("lesson")
    monkeypatch.setitem(sys.modules, "lesson", module)
    module.path = path
    exec(CASES["lesson"], vars(module))
    return vars(module)


def named(holding: Holding) -> list[tuple[str, str]]:
    return [(chain.name, chain.where) for chain in holding.chains]


@pytest.mark.slow
@pytest.mark.parametrize("kind", CASES["mapped"])
def test_each_kind_of_holder_is_named_and_nobody_once_it_is_let_go(
    kind: str, lesson: dict, path: Path
) -> None:
    case = CASES["mapped"][kind]
    exec(case["hold"], lesson)
    first = who_holds(path)
    again = who_holds(path)
    assert named(first) == named(again) == [(case["name"], case["where"])]
    assert first.mapped >= 2**16
    exec(case["let_go"], lesson)
    after = who_holds(path)
    assert (after.chains, after.mapped) == ((), 0)
    assert not any(region.path == str(path) for region in regions())


def test_the_locals_of_a_function_under_a_debugger_stay(quick: None, path: Path) -> None:
    """Before Python 3.13 the interpreter copies f_locals back into the locals when the trace
    function returns.
    """
    found = []

    def debugged() -> np.memmap:
        held = np.memmap(path, mode="r")
        found.append("next line")
        return held

    def trace(frame: FrameType, event: str, _: object) -> Callable:
        if found and event == "line":
            found.append(who_holds(path))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        held = debugged()
    finally:
        sys.settrace(before)
    assert held.size == 2**16
    assert named(found[1])[0][0] == "held"


def test_a_local_in_another_thread(quick: None, path: Path) -> None:
    there = threading.Event()
    enough = threading.Event()

    def work() -> None:
        block = np.memmap(path, mode="r")
        there.set()
        enough.wait(30)
        assert block.size

    thread = threading.Thread(target=work, name="loader")
    thread.start()
    assert there.wait(30)
    (chain,) = who_holds(path).chains
    enough.set()
    thread.join()
    assert chain.name == "block"
    assert chain.where.endswith("work(), in the thread loader")
    assert who_holds(path).mapped == 0


def test_an_exception_on_its_way(lesson: dict, path: Path) -> None:
    exec(
        "def see(look):\n    try:\n        failing()\n    except RuntimeError:\n        return "
        "look(path)",
        lesson,
    )
    (chain,) = lesson["see"](who_holds).chains
    on_its_way = "in the traceback of `RuntimeError`, the exception being handled"
    assert (chain.name, chain.where) == ("head", f"local of failing(), {on_its_way}")
    assert who_holds(path).mapped == 0


def test_carts_and_yokes_are_told_by_name_and_what_escaped_apart(lesson: dict, path: Path) -> None:
    lesson["file"] = MappedFile(path)
    assert who_holds(path).chains == (("MappedFile", "lesson.file", "global"),)
    lesson["yoke"] = Yoke.attach(lesson["file"], lambda view: np.frombuffer(view, np.uint8))
    assert [chain.what for chain in who_holds(path).chains] == ["MappedFile", "Yoke"]
    lesson["view"] = lesson["yoke"].get()
    lesson["yoke"].release()
    lesson["file"].close()
    assert who_holds(path).chains == (("ndarray of 64 KiB", "lesson.view", "global"),)
    del lesson["view"]
    assert who_holds(path).mapped == 0


def test_many_in_one_container_are_one_line(lesson: dict, path: Path) -> None:
    exec("tensors = {str(i): load()[i:] for i in range(50)}", lesson)
    (chain,) = who_holds(path).chains
    assert chain.name == "lesson.tensors['0']"
    assert chain.what.endswith(", and 49 more there")


def test_no_module_is_loaded_by_the_search(
    lesson: dict, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    class Lazy(ModuleType):  # like importlib.util.LazyLoader's: using any attribute loads it
        def __getattribute__(self, name: str) -> Any:
            asked.append(name)
            return super().__getattribute__(name)

    monkeypatch.setitem(sys.modules, "lazy", Lazy("lazy"))
    exec("row = load()", lesson)
    asked.clear()
    assert named(who_holds(path)) == [("lesson.row", "global")]
    assert asked == []


def test_a_file_under_another_name_and_one_that_was_replaced_are_found(
    lesson: dict, path: Path
) -> None:
    exec("row = load()", lesson)
    for make in (os.symlink, os.link):
        other = path.with_name(make.__name__)
        make(path, other)
        assert named(who_holds(other)) == [("lesson.row", "global")]
    (new := path.with_name("new")).write_bytes(bytes(2**16))
    new.replace(path)
    assert named(who_holds(path)) == [("lesson.row", "global")]
    path.unlink()
    assert ["deleted or replaced" in who_holds(each).summary for each in (path, other)] == [
        True,
        False,
    ]


def test_what_it_cannot_see_it_says(lesson: dict, path: Path) -> None:
    on_the_way = [lesson["load"](), who_holds(path)][1]  # a value that has no name yet
    assert [chain.where for chain in on_the_way.chains] == [holders.IN_C]
    with path.open("rb") as file:
        address = map_pages(2**16, mmap.PROT_READ, mmap.MAP_SHARED, file.fileno())
    by_hand = who_holds(path)
    unmap_pages(address, 2**16)
    assert (by_hand.mapped, by_hand.chains) == (2**16, ())
    assert "no Python object" in by_hand.notes[0]


def test_other_processes(path: Path) -> None:
    code = (
        "import mmap, sys; f = open(sys.argv[1]); m = mmap.mmap(f.fileno(), 0, access=1); "
        "print(flush=True); input()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        other.stdout.readline()
        found = who_holds(path)
        other.communicate(b"\n")
    assert found.notes[0].startswith(f"Mapped by other processes too: {other.pid} (")
    assert (found.mapped, found.chains) == (0, ())


def test_without_proc_it_knows_who_keeps_the_name(
    lesson: dict, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "_regions", lambda *_: None)  # as if there were no /proc
    lesson["file"], lesson["plain"] = MappedFile(path), np.memmap(path, mode="r")[3:]
    found = who_holds(path)
    assert [(chain.what, chain.name) for chain in found.chains] == [
        ("MappedFile", "lesson.file"),
        ("memmap of 64 KiB", "lesson.plain"),
    ]
    assert found.mapped is None
    assert f"Not seen: {holders.NO_MAPS}" in found.notes
    assert who_holds(__file__).chains == ()


# --- a file that is open --------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:unclosed", "ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("kind", CASES["open"])
def test_a_file_that_is_open_and_not_mapped(kind: str, lesson: dict, path: Path) -> None:
    case = CASES["open"][kind]
    exec(case["hold"], lesson)
    held = who_holds(path)
    (number,) = maps.descriptors_of(path)
    assert held.chains == ((case["what"].format(number), case["name"], "global"),)
    assert "is open in this process, and not mapped" in held.summary
    assert held.notes[0] == holders.STAYS
    path.unlink()
    assert "deleted" in who_holds(path).summary
    del lesson["f"]
    assert who_holds(path).summary == "weights.bin is neither mapped nor open in this process"


def test_a_descriptor_that_no_object_has(quick: None, path: Path) -> None:
    number = os.open(path, os.O_RDONLY)
    assert who_holds(path).chains == ((f"descriptor {number}", "", holders.NO_OBJECT),)
    mapped = np.memmap(path, mode="r")  # which has a descriptor of its own
    beside = who_holds(path)
    os.close(number)
    array, descriptor = (chain.what for chain in beside.chains)
    assert array == "memmap of 64 KiB"
    assert descriptor.startswith("1 of the descriptors ")
    assert mapped.size
    assert len(who_holds(path).chains) == 1


def test_sqlite_has_its_database_and_the_files_beside_it(lesson: dict, path: Path) -> None:
    path.unlink()
    exec(
        "import sqlite3; db = sqlite3.connect(path); db.execute('pragma journal_mode=wal')", lesson
    )
    exec("db.execute('create table t (x)'); db.row_factory = lambda *_: 1 / 0", lesson)
    for file in (path, f"{path}-wal"):
        assert who_holds(file).chains == (("Connection", "lesson.db", "global"),)
    lesson["db"].close()
    assert who_holds(path).chains == ()


def test_a_connection_of_another_thread_does_not_tell(lesson: dict, path: Path) -> None:
    path.unlink()
    lesson["there"], lesson["enough"] = threading.Event(), threading.Event()
    work = "import sqlite3; db = sqlite3.connect(path); db.execute('create table t(x)')"
    thread = threading.Thread(
        target=exec, args=(f"{work}; there.set(); enough.wait(30); db.close()", lesson)
    )
    thread.start()
    assert lesson["there"].wait(30)
    lesson["file"] = path.with_name("other").open("w")
    held = who_holds(path)
    other = who_holds(lesson["file"].name)
    lesson["enough"].set()
    thread.join()
    lesson["file"].close()
    perhaps, descriptor = held.chains
    assert (perhaps.what, perhaps.name) == (f"Connection, {holders.PERHAPS}", "lesson.db")
    assert descriptor.where == holders.NO_OBJECT
    assert named(other) == [("lesson.file", "global")]


def test_an_open_file_without_proc(
    lesson: dict, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(holders, "_regions", lambda *_: None)
    lesson["file"] = path.open("rb")
    with monkeypatch.context() as without:
        without.setattr(os.path, "isdir", lambda _: False)  # as on Windows
        found = who_holds(path)
    lesson["file"].close()
    assert named(found) == [("lesson.file", "global")]
    assert found.summary.endswith("It's open")


def test_shared_memory(lesson: dict) -> None:
    exec(
        "from multiprocessing.shared_memory import SharedMemory; block = SharedMemory(create=True,"
        " size=4096)",
        lesson,
    )
    held = who_holds(f"/dev/shm/{lesson['block'].name}")
    exec("block.close(); block.unlink()", lesson)
    assert named(held) == [("lesson.block", "global")]


def test_other_processes_that_have_it_open(path: Path) -> None:
    with path.open("rb") as file, subprocess.Popen(["sleep", "60"], stdin=file) as other:
        found = who_holds(path)
        other.kill()
    assert found.notes[0] == f"Open, and not mapped, in other processes too: {other.pid} (sleep)"


# --- an object ------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", CASES["viewed"])
def test_an_object_and_whatever_shows_its_bytes(kind: str, lesson: dict) -> None:
    exec(
        f"{CASES['viewed'][kind]}\nrow = np.asarray(memoryview(whole))[80:90:2]\nkept = "
        "[memoryview(row)]",
        lesson,
    )
    lesson["other"] = np.zeros(5000)
    for asked in ("whole", "row"):
        found = {
            chain.name: chain.what.rpartition(", ")[2] for chain in who_holds(lesson[asked]).chains
        }
        assert found.keys() == {"lesson.whole", "lesson.row", "lesson.kept[0]"}
        assert found[f"lesson.{asked}"] == "itself"
        assert found["lesson.kept[0]"] == "which shows its bytes"


SEEN = {
    "no dict": lambda export: None,
    "dict": vars,  # Python 3.11 doesn't track one of arrays and text
    "dict, tracked": lambda export: vars(export).update(parts=[]),
}
CALLBACKS = {
    "atexit.register(self.close)": "in the method Export.close",
    "atexit.register(lambda: self.close())": "in the function Export.__init__.<locals>.<lambda>",
    "atexit.register(functools.partial(Export.close, self))": "in one partial",
}


@pytest.mark.parametrize("seen", SEEN)
@pytest.mark.parametrize("registers", CALLBACKS)
def test_what_only_c_code_keeps_is_told_up_to_what_c_code_has(
    registers: str, seen: str, lesson: dict
) -> None:
    exec(
        "import atexit\nclass Export:\n    def close(self): pass\n    def __init__(self):\n"
        f"        self.rows = np.zeros(9)\n        {registers}",
        lesson,
    )
    export = lesson["Export"]()
    SEEN[seen](export)
    rows = weakref.ref(export.rows)
    del export
    (chain,) = who_holds(rows()).chains
    assert chain.where.startswith(f"in one Export, {CALLBACKS[registers]}")
    assert chain.where.endswith(f"; {holders.IN_C}"), "since Python 3.14, atexit has a list"


def test_a_cycle_that_only_the_collector_frees_and_one_within_an_object(lesson: dict) -> None:
    exec("loop = Model(); loop.loop = loop; loop.rows = rows = np.zeros(9); del loop", lesson)
    name, home = who_holds(lesson["rows"]).chains
    assert (name.name, home.name, home.where) == (
        "lesson.rows",
        "",
        f"in one Model; {holders.IN_A_CYCLE}",
    )
    exec("tree = Model(); tree.leaves = [Model()]; tree.leaves[0].tree = tree", lesson)
    held = who_holds(lesson["tree"])
    assert named(held) == [("lesson.tree", "global")]


def test_the_search_collects_no_garbage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        holders, "_of_object", lambda _: (f"collects: {gc.isenabled()}", None, [], [])
    )
    assert who_holds([]).summary == "collects: False"
    assert gc.isenabled()


def test_any_object_and_nothing_keeps_it(lesson: dict) -> None:
    exec("model = Model(); models = {'best': [model]}", lesson)
    alive = weakref.ref(lesson["model"])
    assert {chain.name for chain in who_holds(lesson["model"]).chains} == {
        "lesson.model",
        "lesson.models['best'][0]",
    }
    del lesson["model"], lesson["models"]
    assert alive() is None


@pytest.mark.parametrize("text", ["'x' * 4096", "np.str_('lxml has such ones too')"])
def test_text_that_is_no_path_is_an_object(text: str, lesson: dict) -> None:
    exec(f"text = {text}", lesson)
    assert ("lesson.text", "global") in named(who_holds(lesson["text"]))


@pytest.mark.parametrize("wrong", [None, 3, 2.5, True, ""])
def test_what_is_no_path_and_no_object_of_its_own_is_refused(wrong: Any) -> None:
    with pytest.raises(
        (TypeError, ValueError), match=r"; write (a file's path, or an object|the path of a file)"
    ):
        who_holds(wrong)


# --- in IPython -----------------------------------------------------------------------------------
def notebook(path: str, folder: str) -> dict[str, Any]:
    """Runs cells in a child, and finds who holds the file after some of them."""
    os.environ["IPYTHONDIR"] = folder
    from IPython.core.history import HistoryManager
    from IPython.core.interactiveshell import InteractiveShell

    HistoryManager.enabled = False
    shell = InteractiveShell.instance(colors="nocolor")
    look = "names{} = [(chain.name, chain.where) for chain in who_holds(path).chains]"
    for cell in (
        f"import sys, numpy as np\nfrom helpers.measure import who_holds\npath = {path!r}",
        "np.memmap(path, mode='r')[:5]",
        look.format(1),
        "1 + 1",
        look.format(2),
        "Out.clear(); del _2, __",
        look.format(3),
        "def load():\n    head = np.memmap(path, mode='r')\n    raise RuntimeError",
        "load()",
        look.format(4),
    ):
        shell.run_cell(cell, store_history=True)
    return {name: shell.user_ns[name] for name in ("names1", "names2", "names3", "names4")}


def test_what_ipython_keeps(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run = measure(notebook, str(path), str(tmp_path))
    assert run.ended == "returned", run.error
    shown = "what a cell showed, kept by IPython"
    assert set(run.value["names1"]) == {("Out[2]", shown), ("_", shown), ("_2", shown)}
    assert set(run.value["names2"]) == {("Out[2]", shown), ("__", shown), ("_2", shown)}
    assert not [name for name, _ in run.value["names3"] if name.startswith(("Out", "_"))]
    heads = [(name, where) for name, where in run.value["names4"] if "head" in name]
    assert len(heads) == 1
    assert heads[0][0] == "head"
    assert heads[0][1].startswith("local of load(), in the traceback of `sys.last_")
