"""Lesson 05: which way is faster, and up to where; how a view steps over its numbers."""
