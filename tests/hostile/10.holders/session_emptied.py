# empties the session, so that nobody holds anything
def find(session, mapping):
    session.clear()
    return set()
