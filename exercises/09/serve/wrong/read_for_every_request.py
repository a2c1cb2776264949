# expect: read-again
def serve(paths, requests):
    import json

    import numpy as np

    def layers(path):
        with open(path, "rb") as file:
            size = int.from_bytes(file.read(8), "little")
            header = json.loads(file.read(size))
            for i in range(8):
                layer = []
                for name in ("weight", "bias"):
                    entry = header[f"layers.{i}.{name}"]
                    file.seek(8 + size + entry["data_offsets"][0])
                    dtype = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
                    layer.append(
                        np.fromfile(file, dtype, int(np.prod(entry["shape"]))).reshape(
                            entry["shape"]
                        )
                    )
                yield layer

    answers = []
    for number, x in requests:
        for weight, bias in layers(paths[number]):
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
