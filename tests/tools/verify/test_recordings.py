"""The stored outputs of other programs are this project's; changed ones are found."""

import shutil

import numpy as np
import pytest

from tools import verify

_RECORDINGS = {
    "official_tf1_lamb": 76,
    "official_tf1_adamw": 76,
    "official_squad": 162,
    "official_race": 64,
    "huggingface_pretraining": 7,
    "real_weights_kokoro": 13,
    "roberta/masked_lm": 64,
    "roberta/question_answering": 46,
    "roberta/sequence_classification": 46,
    "xlnet/hf_lm": 146,
    "xlnet/hf_lm_bi": 92,
    "xlnet/hf_lm_clamp": 92,
    "xlnet/hf_classifier": 62,
    "xlnet/official_tf1": 115,
    "xlnet/official_tf1_tied": 115,
    "xlnet_heads/multiple_choice": 42,
    "xlnet_heads/token_classification": 40,
    "xlnet_heads/question_answering_simple": 41,
    "xlnet_heads/question_answering": 66,
}
# The windows of official_squad in which a token is found where theirs misses it.
_BETTER = {
    "features_edge/tok_start_to_orig_index": "43",
    "features_edge/tok_end_to_orig_index": "43",
    "features_edge/start_position": "1",
    "features_edge/end_position": "1",
    "features_edge/is_impossible": "1",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", _RECORDINGS)
def test_stored_outputs_of_others(name, shared, capsys):
    verify.main(["", str(shared(f"fixtures/{name}"))])
    *lines, last = capsys.readouterr().out.splitlines()
    assert last == f"{_RECORDINGS[name]} of {_RECORDINGS[name]} arrays agree"
    words = [line.split() for line in lines if "better than recorded: " in line]
    found = {first: last for first, *_, last in words}
    assert found == (_BETTER if name == "official_squad" else {})


# Numbers of recordings without what takes long: the file, the array, and the change.
_CHANGES = [
    ("huggingface_pretraining", "expected", "layer_1", 2e-4),
    ("huggingface_pretraining", "expected", "sop_log_probs", np.nan),
    ("xlnet/hf_classifier", "expected", "logits", 1e-4),
    ("official_squad", "features_v2", "paragraph_len", 1),
    ("official_race", "features_test", "label_ids", 1),
]
_UNREAD = shutil.ignore_patterns("answers_*", "head*", "*_v1*", "v1_*", "*edge*")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "file", "array", "change"), _CHANGES)
def test_one_changed_number_fails(name, file, array, change, shared, tmp_path, capsys):
    source, folder = shared(f"fixtures/{name}"), tmp_path / "x"
    shutil.copytree(source, folder, ignore=_UNREAD, copy_function=shutil.copyfile)
    folder.chmod(0o755)
    if name.startswith("official"):
        vocabulary = shared("data/vocab/albert_en_30k") / "30k-clean.model"
        shutil.copy(vocabulary, folder)
    arrays = dict(np.load(folder / f"{file}.npz"))
    arrays[array].reshape(-1)[3] += change
    np.savez(folder / f"{file}.npz", **arrays)
    with pytest.raises(SystemExit) as end:
        verify.main(["", str(folder)])
    assert end.value.code == 1
    lines = capsys.readouterr().out.splitlines()
    failed = [line.split()[0] for line in lines if "FAILED" in line]
    assert {name.rpartition("/")[2] for name in failed} == {array}


def test_a_gradient_that_is_zero_but_for_rounding():
    limit = verify._limit("grad/classifier.bias", np.float32([-3e-8]), 0.036)
    assert 4.5e-8 < limit < 1e-6
    assert verify._limit("grad/other", np.float32([1e-5]), 0.036) < 1e-7
