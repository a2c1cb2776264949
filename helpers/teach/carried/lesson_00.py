"""What runs around a student's function in lesson 00."""


def grown(function) -> str:
    """Holds what the function returns for long enough to be seen; the name of its type."""
    import time

    held = function()
    time.sleep(0.05)
    return type(held).__name__
