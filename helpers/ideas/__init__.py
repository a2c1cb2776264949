"""Ideas as code that is read in class: one idea a module, with numpy and the standard library and nothing else.

from helpers.ideas.cow import Cow
"""
