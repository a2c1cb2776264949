import json

with open("model.safetensors", "w") as file:  # what `git clone` leaves without git-lfs
    file.write("version https://git-lfs.github.com/spec/v1\n")
    file.write(f"oid sha256:{'0123abcd' * 8}\nsize 17179869184\n")

with open("model.safetensors", "rb") as file:
    length = int.from_bytes(file.read(8), "little")
    header = json.loads(file.read(length))
