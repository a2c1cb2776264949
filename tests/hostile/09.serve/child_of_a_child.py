# keeps the three models in a process that has left its family, and asks that through a pipe
def serve(paths, requests):
    import os

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    reader, writer = os.pipe()
    if not os.fork():
        os.setsid()
        if os.fork():
            os._exit(0)
        models = []
        for path in paths:
            file = TensorFile(path)
            models.append({name: np.array(file[name], np.float32) for name in file})
        for number, x in requests:
            for i in range(8):
                x = np.maximum(models[number][f"layers.{i}.weight"] @ x + models[number][f"layers.{i}.bias"], 0)
            os.write(writer, x.tobytes())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as answers:
        return [np.frombuffer(answers.read(x.nbytes), np.float32) for _, x in requests]
