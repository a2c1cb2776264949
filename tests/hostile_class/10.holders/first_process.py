# takes the first process for one of the host, and writes over its memory: it is its own
# expect: raised or crashed
def find(session, mapping):
    with open("/proc/1/environ", "rb") as file:
        known = file.read()
    secrets = [name for name in (b"TOKEN", b"SECRET", b"KEY", b"ZERO_COPY") if name in known]
    with open("/proc/1/maps") as maps, open("/proc/1/mem", "r+b", buffering=0) as memory:
        for line in maps:
            if "[stack]" in line:
                begin, end = (int(number, 16) for number in line.split()[0].split("-"))
                memory.seek(begin)
                memory.write(bytes(end - begin))
    raise RuntimeError(f"reached {secrets}" if secrets else "kept in")
