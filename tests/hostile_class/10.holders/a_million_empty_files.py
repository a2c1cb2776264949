# a million files with nothing in them
# expect: crashed
def find(session, mapping):
    for number in range(10**6):
        open(f"{number}", "wb").close()
