"""Computes exact match and F1 like SQuAD's own scripts, or CMRC's for Chinese.

Source: evaluate-v1.1.py and evaluate-v2.0.py of SQuAD, and `evaluate_v1`,
`evaluate_v2` in squad_utils.py of google-research/albert; cmrc2018_evaluate.py of CMRC
2018 (Cui et al., 2019), which compares characters, since Chinese has no spaces between
words. A run of other letters is a word: this module finds it by a regular expression,
CMRC's script by NLTK's tokenizer.
"""

import collections
import difflib
import re
import string

WORDS, CHARACTERS = "words", "characters"
_ARTICLES = re.compile(r"\b(a|an|the)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_PUNCTUATION = frozenset("-:_*^/\\~`+=，。：？！“”；’《》·、「」（）－～『』")
_CHINESE = re.compile("[\u4e00-\u9fa5]")
_KANA = re.compile("[\u3041-\u30ff]")
_SEGMENT = re.compile(
    r"[\u4e00-\u9fa5]|[^\W\u4e00-\u9fa5]+(?:\.[^\W\u4e00-\u9fa5]+|,\d+)*|[^\w\s]"
)
_KANA_OF_CHINESE = 0.05  # kana in Chinese texts, in titles and names
OFFICIAL_NA_PROB_THRESH = 1.0
"""Odds above which evaluate-v2.0.py counts a question as unanswered."""


def exact_match(gold, predicted, unit=WORDS):
    """Returns 1 if both texts are equal after normalization, else 0."""
    return int(_NORMALIZED[unit](gold) == _NORMALIZED[unit](predicted))


def f1(gold, predicted, unit=WORDS):
    """Computes F1 of the words or characters in common; 0 without any.

    Words count in any order, characters only in the longest common substring.
    """
    gold, predicted = map(_NORMALIZED[unit], (gold, predicted))
    if unit == WORDS:
        gold, predicted = gold.split(), predicted.split()
        common = collections.Counter(gold) & collections.Counter(predicted)
        same = sum(common.values())
    else:
        gold, predicted = map(_SEGMENT.findall, (gold, predicted))
        runs = difflib.SequenceMatcher(None, gold, predicted, autojunk=False)
        same = runs.find_longest_match().size
    if not same:
        return 0
    precision, recall = 1.0 * same / len(predicted), 1.0 * same / len(gold)
    return (2 * precision * recall) / (precision + recall)


def f1_or_none(gold, predicted, unit=WORDS):
    """Computes the F1 of SQuAD 2.0, which is 1 if neither text has words."""
    return f1(gold, predicted, unit) or int(
        not any(map(_NORMALIZED[unit], (gold, predicted)))
    )


def _normalized(text):
    """Lowercases a text and drops ASCII punctuation, articles and extra spaces."""
    return " ".join(_ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split())


def _normalized_chinese(text):
    """Lowercases a text and drops the punctuation that CMRC's script ignores."""
    return "".join(c for c in text.lower().strip() if c not in _PUNCTUATION)


_NORMALIZED = {WORDS: _normalized, CHARACTERS: _normalized_chinese}


def is_chinese(texts):
    """Returns whether most letters in the texts are Chinese characters.

    Texts with many kana are Japanese, which uses these characters, too.
    """
    letters = chinese = kana = 0
    for text in texts:
        letters += sum(map(str.isalpha, text))
        chinese += len(_CHINESE.findall(text))
        kana += len(_KANA.findall(text))
    return 2 * chinese > letters and kana <= _KANA_OF_CHINESE * letters


def unit_of(questions):
    """Returns the F1 unit for `Question`s: `CHARACTERS` if they are Chinese."""
    texts = [q.text for q in questions]
    texts += [answer.text for q in questions for answer in q.answers]
    return CHARACTERS if is_chinese(texts) else WORDS


def raw_scores(questions, predictions, version, unit=None):
    """Scores each question by the gold answer that suits it best.

    Args:
        questions: iterable of `Question`; for version 1, each with answers.
        predictions: dict of texts by question id, "" for no answer.
        version: 1 or 2, of SQuAD.
        unit: the unit of F1, `WORDS` as SQuAD's scripts or `CHARACTERS` as CMRC's;
            None: `unit_of` the questions.

    Returns:
        By question id, before any threshold: 1 for an exact match, else 0; F1, a
        number in [0, 1]; and whether the question has an answer, a bool. A question
        without a prediction scores 0.
    """
    questions = list(questions)
    unit = unit or unit_of(questions)
    measures = (exact_match, f1 if version == 1 else f1_or_none)
    scores = {}
    for question in questions:
        golds = [answer.text for answer in question.answers]
        if version == 2:
            golds = list(filter(_NORMALIZED[unit], golds)) or [""]
        found, predicted = [0, 0], predictions.get(question.id)
        if predicted is not None:
            found = [
                max(of(gold, predicted, unit) for gold in golds) for of in measures
            ]
        scores[question.id] = (*found, bool(question.answers))
    return scores


def version_1_figures(scores):
    """Computes `exact_match` and `f1` in per cent, as evaluate-v1.1.py."""
    means = _means(scores.values())
    return {"exact_match": means["exact"], "f1": means["f1"]}


def version_2_figures(scores, null_odds=None, threshold=OFFICIAL_NA_PROB_THRESH):
    """Computes the scores of evaluate-v2.0.py, in percent.

    Args:
        scores: the result of `raw_scores`.
        null_odds: dict of numbers by question id, high for no answer; or None.
        threshold: odds above it count as no answer.

    Returns:
        A dict of exact, f1 and total; also for the questions with and without answers,
        if there are any (`HasAns_…`, `NoAns_…`).
    """
    rows = _after_threshold(scores, null_odds, threshold)
    figures = _means(rows)
    for prefix, wanted in (("HasAns", True), ("NoAns", False)):
        if own := [row for row in rows if row[2] is wanted]:
            means = _means(own)
            figures |= {f"{prefix}_{name}": value for name, value in means.items()}
    return figures


def best_figures(scores, predictions, null_odds):
    """Computes the best scores that any threshold reaches on these questions.

    Returns best_exact, best_exact_thresh, best_f1 and best_f1_thresh.
    """
    figures = {}
    for place, name in enumerate(("exact", "f1")):
        best, threshold = _best(scores, place, predictions, null_odds)
        figures |= {f"best_{name}": best, f"best_{name}_thresh": threshold}
    return figures


def _after_threshold(scores, null_odds, threshold):
    """Lists the scores of questions after a threshold; see `raw_scores`."""
    rows = []
    for question, (exact, f1_score, has_answer) in scores.items():
        if null_odds is not None and null_odds[question] > threshold:
            exact = f1_score = float(not has_answer)
        rows.append((exact, f1_score, has_answer))
    return rows


def _means(rows):
    exact, f1_scores, _ = zip(*rows, strict=True)
    return {
        "exact": 100.0 * sum(exact) / len(exact),
        "f1": 100.0 * sum(f1_scores) / len(exact),
        "total": len(exact),
    }


def _best(scores, place, predictions, null_odds):
    score = best = sum(not has_answer for *_, has_answer in scores.values())
    threshold = 0.0
    for question in sorted(null_odds, key=null_odds.get):
        if question not in scores:
            continue
        *values, has_answer = scores[question]
        if has_answer:
            score += values[place]
        elif predictions.get(question):
            score -= 1
        if score > best:
            best, threshold = score, null_odds[question]
    return 100.0 * best / len(scores), threshold


def evaluate_version_1(questions, predictions):
    """Computes exact match and F1, in percent, of one `Prediction` per question."""
    texts = {prediction.question_id: prediction.answer() for prediction in predictions}
    return version_1_figures(raw_scores(questions, texts, version=1))


def evaluate_version_2(questions, predictions, null_score_diff_threshold=None):
    """Computes the figures after a threshold on the null odds.

    The official code always chooses the threshold with the best F1 on the same
    questions that it scores.

    Args:
        questions: list of `Question`.
        predictions: list of `Prediction`, with null odds.
        null_score_diff_threshold: minimum odds of the answer "", or None to choose the
            threshold as the official code does.

    Returns:
        A dict of the figures of evaluate-v2.0.py for the answers that are then written,
        best_exact, best_f1 and their thresholds, and null_score_diff_threshold.
    """
    odds = {p.question_id: p.null_odds for p in predictions}
    texts = {p.question_id: p.answer() for p in predictions}
    raw = raw_scores(questions, texts, version=2)
    best = best_figures(raw, texts, odds)
    threshold = null_score_diff_threshold
    if threshold is None:
        threshold = best["best_f1_thresh"]
    written = {p.question_id: p.answer(threshold) for p in predictions}
    after = raw_scores(questions, written, version=2)
    figures = {**version_2_figures(after), **best}
    return {**figures, "null_score_diff_threshold": threshold}
