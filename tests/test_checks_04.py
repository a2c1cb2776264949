"""Lesson 04's checks: the recorded workers match the live ones."""

from helpers.teach import exercise
from helpers.teach.exercise_files import check

one = exercise("04.report")
report = check(one.folder)
explain = one.made(one.solution_source)


def test_recorded_workers_are_of_the_same_kinds_and_need_every_word():
    crowds = report.recorded()
    assert list(crowds) == list(report.KINDS)
    assert {explain(*crowd)[1] for crowd in crowds.values()} == set(report.WORDS)
    assert {len(moment) for crowd in crowds.values() for moment in crowd} == {report.COUNT}
