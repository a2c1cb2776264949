import json
import os

with open("model.safetensors", "w") as file:  # what `git clone` leaves without git-lfs
    file.write("version https://git-lfs.github.com/spec/v1\n")
    file.write(f"oid sha256:{'0123abcd' * 8}\nsize 17179869184\n")

with open("model.safetensors", "rb") as file:
    length = int.from_bytes(file.read(8), "little")
    if length > (size := os.path.getsize(file.name)):
        file.seek(0)
        raise ValueError(f"{file.name}: {size} bytes, which begin with {file.read(40)}")
    header = json.loads(file.read(length))
