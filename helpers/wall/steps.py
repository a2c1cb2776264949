"""What a question goes through on the wall, in Mazur's order: vote alone, talk, vote again, and
then measure. The class may see the first vote before it talks, and needn't.
"""

from dataclasses import dataclass

ASKED, REVEALED, AGAIN, COMPARED, MEASURED = "asked", "revealed", "again", "compared", "measured"


@dataclass(frozen=True)
class Step:
    title: str
    button: str  # of the teacher's page, which leads to it
    prompt: str  # to the class
    vote: int  # first or second: the one that an answer counts to; 0 if it comes too late
    is_open: bool  # is the class asked to vote?
    drawn: int  # how many votes the class sees, if no earlier step has shown more
    then: tuple[str, ...]  # the steps that may follow, the usual one first


STEPS = {
    ASKED: Step(
        title="First vote",
        button="Ask",
        prompt="Answer alone, without your neighbour.",
        vote=1,
        is_open=True,
        drawn=0,
        then=(AGAIN, REVEALED, MEASURED),
    ),
    REVEALED: Step(
        title="First vote",
        button="Show the spread",
        prompt="Which answer would you defend, and why?",
        vote=2,
        is_open=False,
        drawn=1,
        then=(AGAIN, MEASURED),
    ),
    AGAIN: Step(
        title="Second vote",
        button="Talk and vote again",
        prompt=(
            "Find somebody with another answer, and convince each other. Then vote again, even for "
            "the same answer."
        ),
        vote=2,
        is_open=True,
        drawn=0,
        then=(COMPARED, MEASURED),
    ),
    COMPARED: Step(
        title="Both votes",
        button="Show the spread",
        prompt="Who is right? We measure next.",
        vote=2,
        is_open=False,
        drawn=2,
        then=(MEASURED,),
    ),
    MEASURED: Step(
        title="Measured",
        button="Show the measurement",
        prompt="",
        vote=0,
        is_open=False,
        drawn=2,
        then=(),
    ),
}
