"""10.clinic: for each of three running programs the case of the casebook, and the name at fault."""

import re
import tomllib
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path

import psutil

from helpers.casebook.files import CASES
from helpers.lessons.hazards.clinic import Program, discharge
from helpers.measure import maps
from helpers.measure.jsonable import fields
from helpers.teach.judging import Attempt, NotYet, Verdict, right
from helpers.units import MiB, in_words

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
    measured = {} if maps.why_not() else held(list(PROGRAMS))
    seen = {
        program: PROGRAMS[program]["shows"].format(in_words(size, "bytes"))
        for program, size in measured.items()
    }
    for program, (case, _) in told.items():
        misjudged(program, case, seen.get(program))
    for program, (_, name) in told.items():
        misnamed(program, name)
    discharge()
    done = "You found all three, and no program of the clinic is running any more."
    return right(done, tuple(seen.values()) or ("the programs weren't measured here",))


def misjudged(program: str, case: str, seen: str | None) -> None:
    """Raises NotYet if that isn't the program's case."""
    if is_named(case, PROGRAMS[program]["case"]):
        return
    if not (CASES / Path(case).name / "case.md").is_file():
        why = "`cases()` lists the cases, each with the call that shows it, and its name in there"
        raise NotYet("no-such-case", f"{program}: the casebook has no case {case!r}. {why}.")
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


def held(programs: list[str]) -> dict[str, int]:
    """The bytes that each program holds, as /proc shows them: of gauge the anonymous ones, of
    pool's workers what each has alone, of titles what it maps of a deleted file.
    """
    with ExitStack() as at_end:
        pids = {name: at_end.enter_context(Program(name)).pid for name in programs}
        workers = psutil.Process(pids["pool"]).children()
        deleted = [
            region.end - region.start
            for region in maps.regions(pids["titles"])
            if region.path.endswith("(deleted)")
        ]
        return {
            "gauge": figure(pids["gauge"], "status", "RssAnon"),
            "pool": sum(figure(one.pid, "smaps_rollup", "Private_Dirty") for one in workers),
            "titles": sum(deleted),
        }


def figure(pid: int, file: str, name: str) -> int:
    """A figure in bytes; proc_pid_status(5), proc_pid_smaps(5)."""
    return fields(Path(f"/proc/{pid}/{file}").read_text())[name]
