"""Lesson 04: an overlay file system."""
