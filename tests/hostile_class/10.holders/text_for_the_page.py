# an error whose text is a formula, a script, half a letter, a bell and a line that turns around
# expect: raised
def find(session, mapping):
    text = '=HYPERLINK("http://192.0.2.1")<script>alert(1)</script></style>\ud800\x00\x07\x1b[2J\u202e\r\n`**[a](javascript:b)'
    raise ValueError(text)
