"""`make matrix`: the lessons about files and pages, strict, on other file systems and under other
settings.

It needs root; without root it's skipped, and says why. The lessons themselves run as the owner of
this folder. The kernel cleans up, even after SIGKILL: each row's mounts belong to namespaces that
end with this process; a loop device that `mount` made goes with its mount; its image has no name by
then. The huge-page setting belongs to the whole machine: a process that waits for this one to end
puts it back. Folders left behind go in the next run.
"""

import argparse
import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

import psutil

from helpers.folders import ROOT, generated
from helpers.measure import NotMeasuredHere
from helpers.measure.environment import group as limit_group
from helpers.measure.machine import Machine, here
from helpers.units import GiB, KiB, MiB, in_words

LESSONS = ("02", "03", "04", "09", "10")
DISK = 3 * GiB  # for each row; the lessons write up to 1.5
FOLDER = Path("/var/tmp/zero-copy-matrix")
HUGE_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
NOTE = "huge-pages"  # in FOLDER: the setting as it was
NO_DISK = 77  # the exit code of a row whose file system could not be made


@dataclass(frozen=True)
class Row:
    """`make`: commands for sh(1) that mount an empty file system at ./disk."""

    make: str
    tool: str = "mount"
    huge_pages: str = ""
    limit: int | None = None


def image(mkfs: str, at: str = "disk") -> str:
    return (
        f"truncate -s {DISK} image; mkfs.{mkfs} image >&2; mkdir -p {at}; mount -o loop image "
        f"{at}; rm image"
    )


EXT4 = image("ext4 -q")
ROWS = {
    "ext4": Row(
        f"{EXT4}; echo 128 > /sys/dev/block/$(mountpoint -d disk)/queue/read_ahead_kb", "mkfs.ext4"
    ),
    "xfs": Row(image("xfs -q"), "mkfs.xfs"),
    "btrfs": Row(image("btrfs -q"), "mkfs.btrfs"),
    "overlay": Row(
        f"{image('ext4 -q', at='$PWD/below')}; cd below; mkdir lower upper work; mount -t overlay "
        "-o lowerdir=$PWD/lower,upperdir=$PWD/upper,workdir=$PWD/work overlay ../disk; cd ..",
        "mkfs.ext4",
    ),
    "tmpfs": Row(f"mount -t tmpfs -o size={DISK} tmpfs disk"),
    "huge-pages-never": Row(EXT4, "mkfs.ext4", huge_pages="never"),
    "huge-pages-always": Row(EXT4, "mkfs.ext4", huge_pages="always"),
    "512-MiB": Row(EXT4, "mkfs.ext4", limit=512 * MiB),
}


class Skipped(RuntimeError):
    """Why this machine can't run the row."""


def run(row: Row, numbers: Sequence[str]) -> Iterator[dict]:
    """The machine's facts, then each lesson's result, as `inside` prints them. Raises Skipped if it
    can't be run.
    """
    if not shutil.which(row.tool):
        raise Skipped(f"there is no {row.tool}")
    room = (
        psutil.virtual_memory().available if "tmpfs" in row.make else shutil.disk_usage(FOLDER).free
    )
    if room < DISK + GiB:
        raise Skipped(
            f"it needs {in_words(DISK + GiB, 'bytes')}, and {in_words(room, 'bytes')} are free"
        )
    owner = ROOT.stat()
    work = Path(tempfile.mkdtemp(prefix="row-", dir=FOLDER))
    work.chmod(0o755)
    (work / "disk").mkdir()
    home = work / "disk" / "home"
    make = f"{row.make}; install -d -o {owner.st_uid} -g {owner.st_gid} disk/home"
    user = (
        f"setpriv --reuid {owner.st_uid} --regid {owner.st_gid} --clear-groups env HOME={home} "
        f"ZERO_COPY_DATA={home}"
    )
    script = f'(set -e; {make}) || exit {NO_DISK}; {user} "$@"'  # sh(1) stays, to wait for orphans
    namespaces = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
    this = (sys.executable, "-B", __file__, "--inside", "--lessons", *numbers)
    with ExitStack() as at_end:
        try:
            group = at_end.enter_context(limit_group(row.limit)) if row.limit else ()
            if row.huge_pages:
                at_end.enter_context(huge_pages(row.huge_pages, HUGE_PAGES, FOLDER / NOTE))
        except (NotMeasuredHere, OSError) as error:
            raise Skipped(str(error)) from None
        said = at_end.enter_context(tempfile.TemporaryFile("w+"))
        command = [
            *group,
            "setpriv",
            "--pdeathsig",
            "KILL",
            *namespaces,
            "sh",
            "-c",
            script,
            "sh",
            *this,
        ]
        process = subprocess.Popen(
            command, cwd=work, stdout=subprocess.PIPE, stderr=said, text=True
        )
        at_end.callback(process.wait)
        at_end.callback(process.kill)
        yield from map(json.loads, process.stdout)
        if code := process.wait():
            said.seek(0)
            last = (said.read().strip().splitlines() or [f"it ended with {code}"])[-1]
            raise Skipped(last) if code == NO_DISK else RuntimeError(last)


def inside(numbers: Sequence[str]) -> None:
    """Runs the lessons where generated files go. A lesson that fails gets a second try, because it
    measures time.
    """
    from helpers.publish import executed, lessons  # here, because they take a second
    from helpers.teach.recorded import IN_MEMORY, LIMITED

    print(json.dumps(asdict(here(generated()))), flush=True)
    folder = generated() / "executed"
    for lesson in (lesson for lesson in lessons() if lesson.name[:2] in numbers):
        began = time.monotonic()
        failed = []
        shown = ""
        while len(failed) < 2 and not shown:
            try:
                shown = executed(lesson, folder, again=True).read_text()
            except Exception as error:  # a lesson's, or the kernel's
                kept = folder / f"{lesson.stem}.failed.ipynb"
                claims = re.findall(
                    r"claim '([\w-]+)' does not hold", kept.read_text() if kept.exists() else ""
                )
                failed.append(claims[0] if claims else repr(error)[:200])
        result = {"lesson": lesson.name[:2], "seconds": time.monotonic() - began, "failed": failed}
        print(json.dumps(result | {"recorded": IN_MEMORY in shown or LIMITED in shown}), flush=True)


@contextmanager
def huge_pages(value: str, setting: Path, note: Path) -> Iterator[None]:
    """Changes the setting of the whole machine for a while. However this process ends, another one
    then sees the end of its input and puts the old setting back. If that one is killed too,
    `restore` does it, from the note.
    """
    note.write_text(chosen(setting))
    wait = 'trap "" INT TERM HUP; read -r _; cat "$1" > "$0" && rm -f "$1"'
    command = ("sh", "-c", wait, setting, note)
    # exit closes the input, and waits
    with subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True):
        setting.write_text(value)
        yield


def chosen(setting: Path) -> str:
    return re.search(r"\[(\w+)\]", setting.read_text())[1]


def restore(setting: Path, note: Path) -> None:
    """Puts back the setting that a killed run changed."""
    if note.exists():
        setting.write_text(note.read_text())
        note.unlink()


def asked(name: str, numbers: Sequence[str]) -> tuple[str, bool]:
    """Runs a row, and prints as it goes. Returns the row of the table, and whether all claims
    hold.
    """
    print(f"{name:17}", end=" ", flush=True)
    row = ROWS[name]
    wrong = []
    recorded = ""
    try:
        answers = run(row, numbers)
        machine = Machine(**next(answers))
        for lesson, seconds, failed, shown in (answer.values() for answer in answers):
            wrong += [f"{lesson} {failed[-1]}"] if len(failed) > 1 else []
            recorded = ", with recorded runs" if shown else recorded
            first = f" after {failed[0]}" if failed else ""
            print(f" {lesson} {seconds:.0f} s{first};", end="", flush=True)
    except RuntimeError as error:
        skipped = isinstance(error, Skipped)
        result = f"{'skipped' if skipped else 'failed'}: {error}"
        print(result)
        return (
            f"| {name} | | | | {result} |",
            skipped and os.environ.get("ZERO_COPY_TOOLS") != "all",
        )
    result = f"failed: {'; '.join(wrong)}" if wrong else f"all hold{recorded}"
    print(f" {result}")
    pages = row.huge_pages or (chosen(HUGE_PAGES) if HUGE_PAGES.exists() else "–")
    ahead = "–" if machine.read_ahead is None else f"{machine.read_ahead // KiB:,} KiB"
    memory = in_words(row.limit or machine.memory, "bytes")
    return f"| {machine.file_system} | {ahead} | {pages} | {memory} | {result} |", not wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=list(ROWS))
    parser.add_argument("--lessons", nargs="+", choices=LESSONS, default=LESSONS)
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        return inside(options.lessons)
    if sys.platform != "linux" or os.geteuid():
        print("skipped: it mounts file systems, which takes Linux and root")
        return 0
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    with alone():
        restore(HUGE_PAGES, FOLDER / NOTE)
        asked_for = [asked(name, options.lessons) for name in options.rows]
    who = "an ordinary user" if ROOT.stat().st_uid else "root"
    machine = here(None)
    today = date.today()
    print(
        f"\nLessons {', '.join(options.lessons)}, on {today.day} {today:%B %Y}, as {who}: "
        f"{machine}.\n"
    )
    print("| file system | read-ahead | huge pages | memory | claims |\n|---|---|---|---|---|")
    print(*(row for row, _ in asked_for), sep="\n")
    return 0 if all(holds for _, holds in asked_for) else 1


@contextmanager
def alone() -> Iterator[None]:
    """FOLDER, owned by root, used by this run alone, and empty but for a note. It goes with this
    run or the next.
    """
    FOLDER.mkdir(exist_ok=True)
    with ExitStack() as at_end:
        lock = os.open(FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        at_end.callback(os.close, lock)
        if os.fstat(lock).st_uid:
            raise SystemExit(f"{FOLDER} belongs to somebody else: remove it")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run uses {FOLDER}") from None
        at_end.callback(shutil.rmtree, FOLDER, ignore_errors=True)
        for left in FOLDER.glob("row-*"):
            shutil.rmtree(left)
        yield


if __name__ == "__main__":
    sys.exit(main())
