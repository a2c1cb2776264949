def serve(paths, requests):
    """The answer to each request, which is a pair: a model's number and a vector."""
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            weight, bias = model[f"layers.{i}.weight"], model[f"layers.{i}.bias"]
            x = np.maximum(weight @ x + bias, 0)
        answers.append(x)
    return answers
