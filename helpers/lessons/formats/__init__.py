"""Lesson 08: the bytes of a file, what each step copies, borrowed against owned."""
