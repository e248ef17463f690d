"""Byte-pair encoding: the merges of a vocabulary, applied to the bytes of a word."""

import heapq


class Merges:
    """The merges of neighbouring pieces, the first ones first.

    Args:
        byte_ids: list of int [256], the id of each byte alone.
        pairs: `{(left id, right id): (rank, id of both)}`.
    """

    def __init__(self, byte_ids, pairs):
        self.byte_ids, self.pairs = byte_ids, pairs

    def apply(self, word):
        """Merges the pair of the lowest rank, the first of equal ones, while there is.

        Args:
            word: bytes.

        Returns:
            Ids, a list of int. The time grows with the length of the word, but for a
            logarithm.
        """
        ids = [self.byte_ids[byte] for byte in word]
        end, pairs = len(ids), self.pairs
        # Where the piece before and behind each begins; a merged one stays left.
        before, behind = list(range(-1, end - 1)), list(range(1, end + 1))
        heap = []

        def note(left, right):
            found = pairs.get((ids[left], ids[right]))
            if found:
                heapq.heappush(heap, (found[0], left, found[1], right))

        for left in range(end - 1):
            note(left, left + 1)
        while heap:
            rank, left, merged, right = heapq.heappop(heap)
            if ids[left] is None or ids[right] is None or behind[left] != right:
                continue
            if pairs.get((ids[left], ids[right])) != (rank, merged):
                continue  # one of both has grown since
            ids[left], ids[right] = merged, None
            behind[left] = following = behind[right]
            if following < end:
                before[following] = left
                note(left, following)
            if before[left] >= 0:
                note(before[left], left)
        return [index for index in ids if index is not None]

    def grow_in_order(self):
        """Returns whether each piece is merged into others after its own merges only.

        Then all places of a pair of the lowest rank can be merged at once: none of
        them makes a pair of a lower rank.
        """
        last_made = {}
        for rank, merged in self.pairs.values():
            last_made[merged] = max(rank, last_made.get(merged, -1))
        return all(
            max(last_made.get(left, -1), last_made.get(right, -1)) < rank
            for (left, right), (rank, _) in self.pairs.items()
        )
