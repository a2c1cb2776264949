from collections import OrderedDict
from contextlib import suppress


class Loan:
    def __init__(self, cache, path):
        self.cache, self.path = cache, path

    def __enter__(self):
        model = self.cache.models.setdefault(self.path, {"lent": 0, "mapping": None})
        if model["mapping"] is None:
            self.cache.shrink(room_for=1)
            model["mapping"] = self.cache.load(self.path)
        self.cache.models.move_to_end(self.path)
        model["lent"] += 1
        return model["mapping"]

    def __exit__(self, *error):
        self.cache.models[self.path]["lent"] -= 1
        self.cache.shrink()


class Cache:
    def __init__(self, most, load):
        self.most, self.load, self.models = most, load, OrderedDict()

    def lend(self, path):
        return Loan(self, path)

    def shrink(self, room_for=0):
        mapped = {path: model for path, model in self.models.items() if model["mapping"]}
        excess = len(mapped) + room_for - self.most
        for path, model in mapped.items():
            if excess > 0 and not model["lent"]:
                del self.models[path]
                with suppress(BufferError):  # a view that is still there keeps it until it goes
                    model["mapping"].close()
                excess -= 1


def make_cache(most, load):
    return Cache(most, load)
