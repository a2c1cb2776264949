import threading

size = 4096
with open("records", "wb") as file:
    for letter in b"abcdefgh":
        file.write(bytes([letter]) * size)


def other(records):
    turn.wait()  # it works while the first one is between seek and read
    records.seek(5 * size)
    done.set()


turn, done = threading.Event(), threading.Event()
with open("records", "rb") as records, open("records", "rb") as another:
    thread = threading.Thread(target=other, args=(records,))
    thread.start()
    records.seek(2 * size)
    turn.set()
    done.wait()
    got = records.read(size)[:1].decode()
    thread.join()
