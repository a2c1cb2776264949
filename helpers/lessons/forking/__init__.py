"""Lesson 04: an overlay file system; a lost update, step by step."""
