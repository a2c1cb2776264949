import hashlib
import os

jobs, kinds, size = 12, 6, 1 << 20
os.mkdir("cache")


def result_of(path, text):
    key = hashlib.sha256(path.encode()).hexdigest()
    if not os.path.exists(f"cache/{key}"):
        with open(part := f"{os.getpid()}.part", "wb") as file:
            file.write(text * (size // len(text)))  # the work
        os.replace(part, f"cache/{key}")
    return f"cache/{key}"


for job in range(jobs):
    result_of(f"/tmp/job-{job}/input.txt", b"%08d" % (job % kinds))

files = list(os.scandir("cache"))
on_disk = sum(file.stat().st_size for file in files)
left_there = len(files)
