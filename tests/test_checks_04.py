"""Lesson 04's checks: the recorded workers are what the live ones are."""

from helpers.teach import exercise
from helpers.teach.exercise_files import check

report = check(exercise("04.report").folder)


def test_recorded_workers_are_of_the_same_kinds_and_need_every_word():
    crowds = report.recorded()
    assert list(crowds) == list(report.KINDS)
    assert {report.word(crowd) for crowd in crowds.values()} == set(report.WORDS)
    assert {len(moment) for crowd in crowds.values() for moment in crowd} == {report.COUNT}
