"""02.sample: the smallest check there is."""

from helpers.teach.judging import Attempt, NotYet, Verdict, first_difference, right


def run(function, source, target) -> None:
    function(source, target)


def judge(attempt: Attempt) -> Verdict:
    source = attempt.folder / "source"
    target = attempt.folder / "target"
    source.write_bytes(bytes(range(256)) * 4096)
    attempt.run(run, source, target, memory_limit="64 MiB")
    if not target.exists() or first_difference(source, target) is not None:
        raise NotYet("other-bytes", "the copy is not its source.")
    return right("It is a copy.")
