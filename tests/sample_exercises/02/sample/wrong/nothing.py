# expect: other-bytes
def copy(source, target):
    return 0  # wrong-answer-text
