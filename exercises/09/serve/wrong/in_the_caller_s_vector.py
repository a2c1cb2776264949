# expect: vector-changed
def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            weight, bias = model[f"layers.{i}.weight"], model[f"layers.{i}.bias"]
            np.maximum(weight @ x + bias, 0, out=x)
        answers.append(x)
    return answers
