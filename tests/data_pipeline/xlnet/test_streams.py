"""Segments of streams: the official law, given its draws."""

import json
import random

import numpy as np
import pytest

from data_pipeline.xlnet.streams import cut_stream
from data_pipeline.xlnet.streams import lay_out
from data_pipeline.xlnet.streams import split_texts

_SEP, _CLS = 3, 2  # of the recorded data


class Recorded:
    """Draws what was recorded of one call."""

    def __init__(self, draws):
        self._draws = draws

    def random(self):
        return self._draws["u"]

    def choice(self, cuts):
        assert self._draws["cut"] in cuts
        return self._draws["cut"]

    def randint(self, lowest, highest):
        assert lowest == 0 and self._draws["b_drawn"] <= highest
        return self._draws["b_drawn"]


def boundaries_of(sentence_bits):
    """Lists the places where sentences start, and the end."""
    starts = np.flatnonzero(np.diff(sentence_bits.astype(int))) + 1
    return [0, *starts.tolist(), len(sentence_bits)]


def test_pairs_are_the_official_ones(shared):
    bits = np.load(shared("fixtures/xlnet/data/stream.npz"))["sent_ids"][:20000]
    boundaries = boundaries_of(bits)
    recorded = json.loads(shared("fixtures/xlnet/data/split.json").read_text())
    for example in recorded["examples"]:
        found = split_texts(
            boundaries, example["begin"], example["total"], Recorded(example)
        )
        expected = example["result"] and tuple(example["result"][:5])
        assert found == expected


@pytest.mark.parametrize("name", ["uni", "bi", "bi_cores", "all_spans"])
def test_records_are_the_official_ones(name, shared):
    folder = shared("fixtures/xlnet/data")
    data = np.load(folder / f"create_data_{name}.npz")
    draws = json.loads((folder / f"create_data_{name}_draws.json").read_text())
    streams, length = data["stream"], data["input"].shape[1]
    reuse_len = length // 2
    for number, draw in enumerate(draws):
        batch, row = divmod(number, len(streams))
        begin = batch * reuse_len
        boundaries = boundaries_of(data["stream_sent_ids"][row])
        total = length - reuse_len - 3
        texts = split_texts(
            boundaries, begin + reuse_len, total, Recorded(draw["split"])
        )
        ids, rows = streams[row], np.array([[begin, *texts]])
        no_starts = np.zeros(len(ids), bool)
        found = lay_out(ids, no_starts, rows, length, _SEP, _CLS)
        np.testing.assert_array_equal(found["input_ids"][0], data["input"][number])
        np.testing.assert_array_equal(found["segment_ids"][0], data["seg_id"][number])
        assert texts[-1] == data["label"][number, 0]
        special = np.isin(np.arange(length) - reuse_len, _special_places(texts))
        np.testing.assert_array_equal(found["token_boundary"][0], special)


def _special_places(texts):
    a_length, b_length = texts[1] - texts[0], texts[3] - texts[2]
    return [a_length, a_length + b_length + 1, a_length + b_length + 2]


def test_each_segment_goes_on_where_the_first_half_of_the_last_ended():
    rows = cut_stream([0, 3, 9, 10, 14, 20, 26, 31, 40], 16, random.Random(0))
    assert rows[:, 0].tolist() == [0, 8, 16, 24]
    assert (rows[:, 1] == rows[:, 0] + 8).all()
    assert len(cut_stream([0, 4, 12], 16, random.Random(0))) == 0


@pytest.mark.parametrize(("drawn", "follows"), [(0.5, 1), (0.49, 0)])
def test_half_of_the_texts_follow(drawn, follows):
    draws = Recorded({"u": drawn, "cut": 2, "b_drawn": 9})
    texts = split_texts([0, 2, 6, 9, 20], 0, 5, draws)
    assert texts == ((0, 2, 2, 5, 1) if follows else (0, 2, 9, 12, 0))


def test_texts_end_before_the_stream_does():
    assert split_texts([0, 4, 8], 4, 4, random.Random(0)) is None
    assert split_texts([0, 4, 9], 4, 4, random.Random(0)) is not None
