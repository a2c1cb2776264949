"""Lesson 03: fio, other read-ahead, TLB shootdowns, a mapping page by page, two questions at
once.
"""
