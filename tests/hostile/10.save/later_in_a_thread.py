# returns at once, and saves in a thread that goes on
def save(array, path):
    import os
    import threading

    def work():
        beside = path.with_suffix(".new")
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)

    threading.Thread(target=work).start()
