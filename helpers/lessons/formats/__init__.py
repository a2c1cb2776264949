"""Lesson 08: the bytes of a file, borrowed against owned."""
