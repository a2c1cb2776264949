# an error with a text of ten million letters
# expect: raised
def find(session, mapping):
    raise ValueError("<" * 10**7)
