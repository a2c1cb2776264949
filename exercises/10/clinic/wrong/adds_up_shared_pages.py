# expect: look-alike
def diagnose():
    return {
        "gauge": ("rows-keep-the-file", "latest"),
        "pool": ("rss-sum-counts-shared-pages", "words"),
        "titles": ("deleted-and-still-there", "answered"),
    }
