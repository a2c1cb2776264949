"""10.clinic: for each of three running programs the case of the casebook, and the name at fault."""

import re
import runpy
import tomllib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from subprocess import Popen

import psutil

from helpers.casebook.files import CASES
from helpers.measure import maps
from helpers.measure.jsonable import fields
from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB, in_words

START = runpy.run_path(str(Path(__file__).with_name("start.py")), run_name="start")
PROGRAMS = tomllib.loads(Path(__file__).with_name("programs.toml").read_text(encoding="utf-8"))
WANTED = (
    "a dict with the keys `'gauge'`, `'pool'` and `'titles'`, each with two texts: the case and "
    "the name"
)


def run(function) -> dict[str, list[str]] | str:
    """What the function returned: the texts for each program, or as it prints if it has no such
    form.
    """
    told = function()
    pairs = isinstance(told, dict) and all(
        isinstance(pair, tuple | list) and [*map(type, pair)] == [str, str]
        for pair in told.values()
    )
    if not pairs:
        return repr(told)[:200]
    return {str(program)[:80]: [text[:80] for text in pair] for program, pair in told.items()}


def judge(attempt: Attempt) -> Verdict:
    """Starts the programs once more, to show what they hold; they end with this check."""
    told = attempt.run(run, memory_limit=256 * MiB).value
    if not isinstance(told, dict) or set(told) != set(PROGRAMS):
        raise NotYet("no-pairs", f"expected {WANTED}; got {told}.")
    seen = {} if maps.why_not() else measured()
    for program, (case, _) in told.items():
        misjudged(program, case, seen.get(program))
    for program, (_, name) in told.items():
        misnamed(program, name)
    discharge("programs.py")
    done = "You found all three, and no program of the clinic is running any more."
    return right(done, tuple(seen.values()) or ("the programs weren't measured here",))


@contextmanager
def running() -> Iterator[list[Popen]]:
    """The three programs, which end with this block."""
    with ExitStack() as at_end:
        yield [at_end.enter_context(START["Program"](name)) for name in PROGRAMS]


def measured() -> dict[str, str]:
    """What each program holds, in words."""
    with running() as programs:
        sizes = [held(name, program.pid) for name, program in zip(PROGRAMS, programs, strict=True)]
    return {
        name: PROGRAMS[name]["shows"].format(in_words(size, "bytes"))
        for name, size in zip(PROGRAMS, sizes, strict=True)
    }


def misjudged(program: str, case: str, seen: str | None) -> None:
    """Raises NotYet if that isn't the program's case."""
    if not (CASES / Path(case).name / "case.md").is_file():
        why = "`cases()` lists the cases, each with the call that shows it, and its name in there"
        raise NotYet("no-such-case", f"{program}: the casebook has no case {case!r}. {why}.")
    if is_named(case, PROGRAMS[program]["case"]):
        return
    look_alike = PROGRAMS[program]["other_cases"].get(case)
    why = look_alike or "Compare its “Symptom” and its “Look” with what you see."
    measured = f" Measured: {seen}." if seen else ""
    cause = "look-alike" if look_alike else "other-case"
    raise NotYet(cause, f"{program}: it isn't {case!r}. {why}{measured}")


def misnamed(program: str, name: str) -> None:
    """Raises NotYet if that isn't the name at fault; `latest[1]` counts as `latest`."""
    base = re.match(r"\w*", name)[0]
    if is_named(base, PROGRAMS[program]["name"]):
        return
    unknown = "Which of the program's names leads to what it holds or copies?"
    why = PROGRAMS[program]["other_names"].get(base, unknown)
    raise NotYet("other-name", f"{program}: it isn't {name!r}. {why}", half="the cases")


def is_named(text: str, digest: str) -> bool:
    return sha256(text.encode("utf-8", "replace")).hexdigest().startswith(digest)


def held(program: str, pid: int) -> int:
    """The bytes at fault, as /proc shows them: of gauge the anonymous ones, of pool's workers what
    each has alone, of titles what it maps of a deleted file.
    """
    if program == "gauge":
        return figure(pid, "status", "RssAnon")
    if program == "pool":
        workers = psutil.Process(pid).children()
        return sum(figure(worker.pid, "smaps_rollup", "Private_Dirty") for worker in workers)
    gone = [region for region in maps.regions(pid) if region.path.endswith("(deleted)")]
    return sum(region.end - region.start for region in gone)


def discharge(script: str) -> None:
    """Ends the programs that this process has started."""
    for child in psutil.Process().children():
        with suppress(psutil.Error):
            if any(word.endswith(script) for word in child.cmdline()):
                child.terminate()


def figure(pid: int, file: str, name: str) -> int:
    """A figure in bytes; proc_pid_status(5), proc_pid_smaps(5)."""
    return fields(Path(f"/proc/{pid}/{file}").read_text())[name]
