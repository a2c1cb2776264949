def copies():
    pass
