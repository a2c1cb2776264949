"""Ideas as code to read in class: one idea per module, built on numpy and the standard library
alone.
"""
