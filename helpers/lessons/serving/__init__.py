"""Lesson 11: memory while it grows, and a server under load."""
