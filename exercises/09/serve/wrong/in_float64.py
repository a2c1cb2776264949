# expect: no-vector
def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        x = x.astype(np.float64)
        for i in range(8):
            weight, bias = model[f"layers.{i}.weight"], model[f"layers.{i}.bias"]
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
