def make_cache(most, load):
    from contextlib import contextmanager
    from itertools import count

    class Cache:
        lent, idle = {}, {}  # path -> [mapping, loans]; path -> mapping
        latest, numbers = {}, count()  # path -> the number of its latest loan

        @contextmanager
        def lend(self, path):
            if path not in self.lent:
                self.lent[path] = [self.idle.pop(path, None) or load(path), 0]
            loan = self.lent[path]
            loan[1] += 1
            self.latest[path] = next(self.numbers)
            self.trim()
            try:
                yield loan[0]
            finally:
                loan[1] -= 1
                if not loan[1]:
                    self.idle[path] = self.lent.pop(path)[0]
                del loan
                self.trim()

        def trim(self):
            while self.idle and len(self.idle) + len(self.lent) > most:
                # the last reference: that unmaps it
                del self.idle[min(self.idle, key=self.latest.get)]

    return Cache()
