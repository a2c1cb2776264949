import io

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

pages, points = 4, np.arange(1000)


def page(number):
    fig, ax = plt.subplots()
    ax.plot(points, points % (number + 2))
    try:
        fig.savefig(out := io.BytesIO(), dpi=30)
    finally:
        plt.close(fig)
    return len(out.getvalue())


drawn = sum(page(number) > 0 for number in range(pages))
still_open = len(plt.get_fignums())
