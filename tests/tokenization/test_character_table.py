"""SentencePiece models that prepare texts by their own table of characters."""

import pytest
import sentencepiece

from albert_tf.tokenization.character_table import self_preparing
from albert_tf.tokenization.sentencepiece import SentencePieceTokenizer
from albert_tf.tokenization.tokenizer import TextRules
from tests.tokenization.test_tokenizer_json import HOSTILE

_TEXTS = [text for text in HOSTILE if "\u03a3" not in text]
_TEXTS += ["\xa8 a\xa8b \u1112\u1161\u11ab \u09c7\u09be", "A\u0302\u0301 e\u0302\u0301"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lowers", "rules"),
    [
        (True, TextRules()),
        (False, TextRules(joins_quotes=True)),
        pytest.param(False, TextRules(keep_accents=True), marks=pytest.mark.nightly),
        pytest.param(True, TextRules(as_tokenizers=True), marks=pytest.mark.nightly),
    ],
)
def test_a_model_prepares_texts_itself(lowers, rules, train_model):
    model = train_model(model_type="unigram", vocab_size=70)
    tokenizer = SentencePieceTokenizer(model, lowers, rules=rules)
    processor = sentencepiece.SentencePieceProcessor()
    processor.LoadFromSerializedProto(self_preparing(tokenizer))
    for text in _TEXTS:
        expected = tokenizer.normalized(tokenizer.prepare(text))
        assert processor.Normalize(text).removeprefix("\u2581") == expected
