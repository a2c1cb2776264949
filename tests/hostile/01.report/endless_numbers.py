# numbers of 100,000 digits, and a word of a million letters
import sys


def verdict(before, after):
    sys.set_int_max_str_digits(0)
    return 10**100_000, -(10**100_000), "lent" * 250_000
