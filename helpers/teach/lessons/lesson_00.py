"""Lesson 00, start here: one exercise to see how exercises work, one quiz."""

from ...units import MiB, in_words
from ..carried import lesson_00 as carried
from ..exercises import Attempt, Exercise, Verdict, own_memory
from ..quizzes import Choice, Quiz

WANTED = 64 * MiB


def check_grow(attempt: Attempt) -> Verdict:
    """64 MiB of anonymous memory, a tenth more or less."""
    run = attempt.measure(carried.grown, memory_limit=16 * WANTED)
    stopped = attempt.unless_returned(run)
    if stopped:
        return stopped
    peak = run.peak
    if own_memory(run) is None:
        grown, figures = run.heap_peak or 0, (f"{in_words(run.heap_peak, 'bytes')} on the heap",)
        said = "on the heap: anonymous memory is not measured here, so the heap counter stands in"
    else:
        grown, said = peak.anonymous, "of anonymous memory"
        kinds = (("anonymous", peak.anonymous), ("file-backed", peak.file), ("shared", peak.shared))
        figures = tuple(f"{in_words(most, 'bytes')} {kind}" for kind, most in kinds)
    if run.value == "NoneType":
        return Verdict("not yet", "it returned nothing, so the memory is gone when the function ends.", figures, run)
    if abs(grown - WANTED) <= 0.1 * WANTED:
        return Verdict("right", f"It took {in_words(grown, 'bytes')} {said}.", figures, run)
    if grown > WANTED:
        why = (
            "That is more than asked for. How many bytes has each element of what you made? Or is a second copy alive "
            "for a moment?"
        )
    elif (peak.shared or 0) > 0.9 * WANTED:
        why = "The memory is there, but it is shared: the green kind. The orange kind is wanted."
    elif (peak.file or 0) > 0.9 * WANTED:
        why = "The memory is there, but it is a file's: the blue kind. The orange kind is wanted."
    else:
        why = "Memory that nothing was written to may not be there yet: the kernel provides it at the first touch."
    return Verdict("not yet", f"it took {in_words(grown, 'bytes')} {said}. {why}", figures, run)


GROW = Exercise(
    key="00.grow",
    title="take 64 MiB for yourself",
    minutes=5,
    prompt="""
Write `grow()`. It takes 64 MiB of anonymous memory, the orange kind, at its peak, and returns what holds it. A tenth \
more or less is all right.

Run the check before you write anything, then with a wrong amount, then with the right one: so you have seen all that \
a check can say.
""",
    starter="def grow(): ...\n",
    judge=check_grow,
    hints=(
        "64 MiB are `64 * 2**20` bytes. Which object of Python is just a block of bytes that you can write to?",
        "`bytearray(n)` has n bytes and writes a zero to each. Do not forget `return`.",
    ),
    solution_source="def grow():\n    return bytearray(64 * 2**20)\n",
    wrong=(
        ("def grow():\n    block = bytearray(64 * 2**20)\n", "it returned nothing, so the memory is gone"),
        ("def grow():\n    return bytes(64 * 2**20)\n", "Memory that nothing was written to may not be there yet"),
        ("def grow():\n    return bytearray(64)\n", "it took"),
        ("def grow():\n    return [0] * (64 * 2**20)\n", "How many bytes has each element"),
        (
            """def grow():
    import mmap
    block = mmap.mmap(-1, 64 * 2**20)
    for at in range(0, len(block), mmap.PAGESIZE):
        block[at] = 1
    return block
""",
            "it is shared: the green kind",
        ),
        ("def grow():\n    return bytearay(64 * 2**20)\n", "raised NameError: name 'bytearay' is not defined"),
    ),
    size=WANTED,
)

EXERCISES = (GROW,)

QUIZZES = (
    Quiz(
        "00.zero-copy",
        "A library says: “We load your file with zero-copy.” What do you ask first?",
        (
            Choice(
                "How fast is it?",
                False,
                "A good question, but a later one: what is not copied now may have to be fetched later, at the first "
                "touch. First find out what is not copied.",
            ),
            Choice(
                "Which copy is left out, and between which two places would it have gone?",
                True,
                "Yes. Bytes go from the disk to the page cache, from there to a buffer, from there to an array. "
                "“Zero” always means one of these steps. The word tells you nothing until you know which.",
            ),
            Choice(
                "Is there really no copy at all?",
                False,
                "There is always one: something has to bring the bytes from the disk into memory. So the question is "
                "which of the others is left out.",
            ),
            Choice(
                "How much memory does it use?",
                False,
                "A good question, and you will measure it soon. But memory can be lent or owned, and the answer "
                "depends on which copy was left out.",
            ),
        ),
    ),
)
