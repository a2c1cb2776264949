"""Lesson 03: fio, other read-ahead, what can be mapped, two questions at once."""
