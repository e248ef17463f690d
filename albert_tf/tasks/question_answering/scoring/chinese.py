"""Exact match and F1 of characters, for Chinese, which puts no spaces between words.

Source: cmrc2018_evaluate.py of CMRC 2018 (Cui et al., 2019). Runs of other letters are
words, here by a regular expression, there by NLTK's tokenizer.
"""

import re

_PUNCTUATION = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_CHINESE = re.compile("[\u4e00-\u9fa5]")
_KANA = re.compile("[\u3041-\u30ff]")
_SEGMENT = re.compile(
    r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+(?:\.[^\W\u4e00-\u9fa5]+|,\d+)*|[^\w\s]"
)
_KANA_OF_CHINESE = 0.05  # in titles and names


def is_chinese(texts):
    """Returns whether most letters of some texts are Chinese characters.

    Japanese, which has such characters too, is told by its kana.
    """
    letters = chinese = kana = 0
    for text in texts:
        letters += sum(map(str.isalpha, text))
        chinese += len(_CHINESE.findall(text))
        kana += len(_KANA.findall(text))
    return 2 * chinese > letters and kana <= _KANA_OF_CHINESE * letters


def normalized(text):
    """Lowers a text and drops the punctuation that CMRC's script ignores."""
    return "".join(c for c in text.lower().strip() if c not in _PUNCTUATION)


def exact_match(gold, predicted):
    """Returns 1 if both are the same once normalized, otherwise 0."""
    return int(normalized(gold) == normalized(predicted))


def f1(gold, predicted):
    """Computes F1 of the longest run of characters and words that both share."""
    gold, predicted = (_SEGMENT.findall(normalized(text)) for text in (gold, predicted))
    same = _longest_common_run(gold, predicted)
    if not same:
        return 0
    precision, recall = 1.0 * same / len(predicted), 1.0 * same / len(gold)
    return (2 * precision * recall) / (precision + recall)


def _longest_common_run(first, second):
    best, before = 0, [0] * (len(second) + 1)
    for one in first:
        row = [0]
        for place, other in enumerate(second):
            row.append(before[place] + 1 if one == other else 0)
        best, before = max(best, *row), row
    return best
