"""Lesson 10: what one may do to a file that is mapped."""
