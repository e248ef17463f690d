"""Searches the largest batch that fits a device."""


def largest_batch(compile_batch, start):
    """Searches by compiling, with the memory of two batches showing where to look.

    Args:
        compile_batch: from a batch size to its `TpuProgram`.
        start: the batch size to begin with.

    Returns:
        `(fits, fails)`: a batch that fits, 0 if not even one row does, and a larger
        one that does not, at most an eighth apart.
    """
    used = {0: None}
    fits, fails = 0, None
    size = start
    while fails is None or fails - fits > max(1, fits // 8):
        program = compile_batch(size)
        used[size] = program.used_bytes
        if program.fits:
            fits = size
        else:
            fails, available = size, program.available_bytes
        if fails is None:
            size *= 2
        elif fits == 0:
            size = fails // 2
        else:
            size = _between(fits, fails, used, available)
    return fits, fails


def _between(fits, fails, used, available):
    """The batch that would just fit if memory grew evenly, or one beside it."""
    slope = (used[fails] - used[fits]) / (fails - fits)
    guess = fits + int((available - used[fits]) / max(slope, 1))
    return min(max(guess, fits + 1), fails - 1)
