# an error with a text of a hundred million letters
# expect: raised or memory-limit
def copy_small(source, target):
    raise ValueError("<" * 10**8)
