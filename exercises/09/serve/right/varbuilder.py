def serve(paths, requests):
    import numpy as np

    from helpers.ideas.varbuilder import VarBuilder

    models = [VarBuilder.from_mapped(path) for path in paths]
    answers = []
    for number, x in requests:
        for i in range(8):
            layer = models[number].prefix(f"layers.{i}")
            x = np.maximum(
                layer.get((x.size, x.size), "weight") @ x + layer.get((x.size,), "bias"), 0
            )
        answers.append(x)
    return answers
