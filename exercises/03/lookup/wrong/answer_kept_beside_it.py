# expect: large-reads
# on: linux
def lookup(path, positions):
    from pathlib import Path

    kept = Path(f"{path}.cache")
    if not kept.exists():
        data = Path(path).read_bytes()
        kept.write_bytes(bytes(data[at] for at in positions))
    return kept.read_bytes()
