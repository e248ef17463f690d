"""Search for the largest batch that fits a device."""


def largest_batch(compile_batch, start):
    """Searches by compiling: doubles or halves, then goes half-way three times.

    The memory of two batches does not tell where to look: near its limit the compiler
    saves values that it did not have to save before.

    Args:
        compile_batch: from a batch size to its `TpuProgram`.
        start: the batch size to begin with.

    Returns:
        `(fits, fails)`: a batch that fits, 0 if not even one row does, and a larger
        one that does not, at most an eighth apart.
    """
    fits, fails = 0, None
    size = start
    while fails is None or fails - fits > max(1, fits // 8):
        if compile_batch(size).fits:
            fits = size
        else:
            fails = size
        size = 2 * fits if fails is None else (fits + fails) // 2
    return fits, fails
