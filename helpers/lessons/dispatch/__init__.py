"""Lesson 06: what a call costs."""
