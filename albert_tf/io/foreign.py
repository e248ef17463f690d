"""Settings in other programs' files, which are either supported or refused."""

import types

from albert_tf.errors import UserError

_SHOWN = 60  # characters of a value in a message


def check_settings(entries, path, obeyed, fixed=types.MappingProxyType({})):
    """Refuses an unsupported setting that would change answers.

    A setting that is null, false or empty is off.

    Args:
        entries: dict, the content of the file.
        path: the file's name in messages.
        obeyed: the names of settings that are supported or change no answer.
        fixed: dict from a setting's name to the tuple of supported values.
    """
    for key, value in entries.items():
        named = key if key.isidentifier() else repr(key)
        if key in fixed:
            if value not in [*fixed[key], None]:
                expected = " or ".join(map(repr, fixed[key]))
                raise UserError(
                    f"{path} sets {named} to {shown(value)}, expected {expected}."
                )
        elif key not in obeyed and value not in (None, False, "", [], {}):
            raise UserError(
                f"{path} sets {named} to {shown(value)}, which albert_tf does not "
                "follow; if the answers do not depend on it, take it out of the file."
            )


def shown(value):
    """Returns the `repr` of a value, shortened."""
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
