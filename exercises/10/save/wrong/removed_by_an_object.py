# expect: no-file
class Saver:
    def __call__(self, array, path):
        import os

        beside = path.with_suffix(".new")
        with open(beside, "wb") as file:
            file.write(array)
            file.flush()
            os.fsync(file.fileno())
        os.remove(path)
        os.rename(beside, path)


save = Saver()
