# deletes the models when they are mapped
def serve(paths, requests):
    import os

    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    for path in paths:
        os.remove(path)
    answers = []
    for number, x in requests:
        for i in range(8):
            x = np.maximum(models[number][f"layers.{i}.weight"] @ x + models[number][f"layers.{i}.bias"], 0)
        answers.append(x)
    return answers
