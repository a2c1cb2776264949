from enum import StrEnum


class Word(StrEnum):
    NEITHER, LENT, LEAK, BOTH = "neither", "lent", "leak", "both"


class Status(dict):
    def __init__(self, text):
        pairs = (line.split(":") for line in text.splitlines() if line.endswith(" kB"))
        super().__init__((name, int(value.removesuffix("kB")) * 1024) for name, value in pairs)


def verdict(before, after):
    then, now = Status(before), Status(after)
    lent = now["RssFile"] - then["RssFile"]
    own = sum(now[name] - then[name] for name in ("RssAnon", "RssShmem"))
    return lent, own, list(Word)[(lent > 2**20) + 2 * (own > 2**20)]
