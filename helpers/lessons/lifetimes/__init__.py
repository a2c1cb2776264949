"""Lesson 07: export counts, and what keeps what alive."""
