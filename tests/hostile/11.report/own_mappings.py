# ignores the texts and tells of the process that it runs in
def explain(folder, workers):
    with open("/proc/self/maps") as lines:
        gone = [line for line in lines if line.rstrip().endswith("(deleted)")]
    return 4096 * len(gone), "idle" if gone else "fine"
