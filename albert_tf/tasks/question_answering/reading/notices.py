"""Oddities of some questions, counted and named."""

_SHOWN = 5


class Notices:
    """Question ids by the oddities noted of them."""

    def __init__(self):
        self._ids = {}

    def add(self, what, question_id):
        """Notes `what` is so for a question, such as "there is no answer"."""
        self._ids.setdefault(what, []).append(question_id)

    def ids(self, what):
        """Returns the questions of which `what` was noted, in order."""
        return list(self._ids.get(what, ()))

    def __bool__(self):
        return bool(self._ids)

    def lines(self, expected=()):
        """Writes a line for each kind: "there is no answer: 2 questions (a, b)".

        Args:
            expected: kinds that are not odd here, and left out.
        """
        return [
            f"{what}: {counted(ids)} ({listed(ids)})"
            for what, ids in self._ids.items()
            if what not in expected
        ]


def counted(ids):
    """Writes "1 question", "2 questions" …"""
    return f"{len(ids)} question{'s' if len(ids) != 1 else ''}"


def listed(ids):
    """Lists the first ids, and the number of the others."""
    more = f" and {len(ids) - _SHOWN} more" if len(ids) > _SHOWN else ""
    return ", ".join(ids[:_SHOWN]) + more
