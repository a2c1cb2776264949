def explain(report):
    import numpy as np

    used, came = report["used"], report["device_bytes"]
    holds = [came > 2 * used, came >= used / 2, report["bytes_by_calls"] >= used / 2]
    return np.select(holds, ["read-ahead", "disk", "copy"], "faults")[()]
