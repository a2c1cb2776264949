"""Lesson 02: several curves by a number, a slider over chunk sizes, recorded tables."""
