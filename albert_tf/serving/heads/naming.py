"""The outputs of several heads in one dict: each name begins with that of its head."""


def named_for(head, outputs):
    """The outputs of a head under the names that they have beside those of others."""
    return {f"{head}_{name}": value for name, value in outputs.items()}


def outputs_of(head, outputs):
    """The outputs of one head among those of several, under its own names for them."""
    prefix = f"{head}_"
    return {
        name.removeprefix(prefix): value
        for name, value in outputs.items()
        if name.startswith(prefix)
    }
