"""Lesson 09: how many experts are needed."""
