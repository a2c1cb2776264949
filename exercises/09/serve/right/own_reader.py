def serve(paths, requests):
    import json

    import numpy as np

    def model(path):
        data = np.memmap(path, np.uint8, "r")
        begin = 8 + int.from_bytes(data[:8].tobytes(), "little")
        tensors = {}
        for name, entry in json.loads(data[8:begin].tobytes()).items():
            if name != "__metadata__":
                first, end = entry["data_offsets"]
                dtype = {"F16": np.float16, "F32": np.float32}[entry["dtype"]]
                tensors[name] = (
                    data[begin + first : begin + end].view(dtype).reshape(entry["shape"])
                )
        return tensors

    models = [model(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            x = np.maximum(model[f"layers.{i}.weight"] @ x + model[f"layers.{i}.bias"], 0)
        answers.append(x)
    return answers
