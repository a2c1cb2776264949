# expect: holds-nothing
def find(session, mapping):
    return set(session)
