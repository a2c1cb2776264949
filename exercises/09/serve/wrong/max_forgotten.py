# expect: other-numbers
def serve(paths, requests):
    import numpy as np

    from helpers.ideas.safetensors import TensorFile

    models = [TensorFile(path) for path in paths]
    answers = []
    for number, x in requests:
        model = models[number]
        for i in range(8):
            x = model[f"layers.{i}.weight"] @ x + model[f"layers.{i}.bias"]
        answers.append(x)
    return answers
