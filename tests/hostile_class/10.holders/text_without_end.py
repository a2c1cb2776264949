# an error with a text of a hundred million letters
# expect: raised or memory-limit
def find(session, mapping):
    raise ValueError("<" * 10**8)
