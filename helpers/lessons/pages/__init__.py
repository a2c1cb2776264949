"""Lesson 01: what memory_profiler and mprof say."""
