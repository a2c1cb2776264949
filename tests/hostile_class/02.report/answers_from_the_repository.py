# reads the answers where the lesson keeps them
# expect: raised
def explain(report):
    import os

    reached = []
    for folder, _, files in os.walk("/home"):
        if "exercises" in folder or "recorded.toml" in files:
            reached.append(folder)
    raise RuntimeError(f"reached {reached[:5]}" if reached else "kept in")
