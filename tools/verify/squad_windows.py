"""Comparison of recorded windows with this project's."""

import unicodedata

import numpy as np

from albert_tf.errors import UserError
from albert_tf.models.question_answering import no_answer_mask
from albert_tf.tasks.batching import evaluation_dataset
from albert_tf.tasks.question_answering.questions import read_paragraphs
from albert_tf.tasks.question_answering.windows import Windows
from albert_tf.tasks.question_answering.windows import characters
from albert_tf.tasks.question_answering.windows import windows_of
from albert_tf.tokenization.normalization import sentencepiece_text
from albert_tf.xlnet.heads import no_answer_mask as no_answer_mask_of_xlnet

_POSITIONS = ("start_position", "end_position", "is_impossible")
_MAPS = ("tok_start_to_orig_index", "tok_end_to_orig_index")
_PER_WINDOW = {"paragraph_len": "lengths", "paragraph_start": "first_lengths"}


def compare(recorded, tokenizer):
    """Makes the windows anew.

    Args:
        recorded: `RecordedWindows`.
        tokenizer: the tokenizer that they were made with.

    Returns:
        Found and expected values, dicts of arrays by the recorded names (`windows`
        counts the windows of each question), and notes by name.
    """
    found, rows = _windows(recorded, tokenizer, is_training=False)
    expected = recorded.arrays
    questions = [i for i in recorded.question_ids if i not in set(recorded.dropped)]
    ours = {"windows": _counts(rows, questions)}
    theirs = {"windows": _counts(recorded.window_keys(), questions)}
    places = [rows.get(key) for key in recorded.window_keys()]
    if None in places:
        # Nothing can be compared window by window; the counts tell.
        return ours, theirs, {}
    width = expected["input_ids"].shape[1]
    for name, array in features_of(found, width).items():
        ours[name] = array[places]
    for name, attribute in _PER_WINDOW.items():
        ours[name] = getattr(found, attribute)[places]
    ours["paragraph_tokens"] = (found.lengths - found.first_lengths - 1)[places]
    is_best = found.padded(found.is_max_context, width).astype(np.int8)
    inside = expected["token_is_max_context"] >= 0
    ours["token_is_max_context"] = np.where(inside, is_best[places], -1)
    notes = _compare_maps(recorded, found, places, tokenizer, ours)
    notes |= _compare_positions(recorded, tokenizer, ours)
    theirs |= {name: expected[name] for name in ours if name in expected}
    return ours, theirs, notes


def features_of(windows, width):
    """Returns the model's inputs of `Windows` by official name, int32 `[W, width]`."""
    [batch] = evaluation_dataset(windows, len(windows), width, pad_to_max_length=True)
    batch.pop("labels", None)
    marks = no_answer_mask_of_xlnet if windows.layout.cls_last else no_answer_mask
    p_mask = marks(batch["input_mask"], batch["segment_ids"])
    found = {**batch, "p_mask": p_mask}
    return {name: np.array(values, np.int32) for name, values in found.items()}


def _windows(recorded, tokenizer, is_training):
    """Makes our windows of all questions, and their rows by question id and number."""
    path = recorded.path("train" if is_training else "dev")
    paragraphs = read_paragraphs(path)
    made = windows_of(paragraphs, tokenizer, recorded.sizes, {}, is_training)
    parts = list(made)
    if not parts:
        raise UserError(f"{path} holds no question.")
    windows = Windows.joined(parts)
    keys = zip(windows.question_index, windows.window_index.tolist(), strict=True)
    rows = {
        (windows.questions[question].id, index): row
        for row, (question, index) in enumerate(keys)
    }
    return windows, rows


def _counts(keys, questions):
    counts = dict.fromkeys(questions, 0)
    for question, _ in keys:
        if question in counts:
            counts[question] += 1
    return np.array(list(counts.values()))


def _compare_maps(recorded, windows, places, tokenizer, ours):
    """Adds the maps from tokens to characters; returns a note on better ones.

    The recorded spans begin with the white space before a piece, ours do not.
    """
    expected = recorded.arrays
    starts, ends = (expected[name].copy() for name in _MAPS)
    pieces = _pieces(windows, recorded.sizes, tokenizer)
    better = 0
    for index, row in enumerate(places):
        context = windows.contexts[windows.question_index[row]]
        first = windows.starts[row] + windows.first_lengths[row]
        for token in range(expected["paragraph_tokens"][index]):
            span = windows.spans[first + token].tolist()
            theirs = starts[index, token], ends[index, token] + 1
            theirs = list(characters(context, *theirs))
            if span == theirs or (span[0] == span[1] and theirs[0] == theirs[1]):
                continue
            piece = pieces[row][token]
            if _is_better(piece, context, span, theirs, tokenizer.do_lower_case):
                better += 1
                continue
            starts[index, token], ends[index, token] = span[0], span[1] - 1
    ours |= dict(zip(_MAPS, (starts, ends), strict=True))
    note = f"better than recorded: {better}"
    return dict.fromkeys(_MAPS, note) if better else {}


def _pieces(windows, sizes, tokenizer):
    """Returns the paragraph's pieces from each window's start; unknown ones as text."""
    texts = {context: tokenizer.tokenize(context) for context in set(windows.contexts)}
    contexts = [windows.contexts[question] for question in windows.question_index]
    firsts = _first_tokens(windows, sizes).tolist()
    return [texts[text][k:] for text, k in zip(contexts, firsts, strict=True)]


def _first_tokens(windows, sizes):
    """Returns the number in its paragraph of each window's first token: int `[W]`."""
    room = sizes.max_seq_length - 1 - windows.first_lengths
    return windows.window_index * np.minimum(room, sizes.doc_stride)


def _is_better(piece, context, ours, theirs, do_lower_case):
    """Returns whether our span matches its piece, and the recorded one does not.

    It is not where it has another text, or leaves out accents behind the text. The span
    of a part of a character, such as a word of U+FDFA or a piece of it, is the whole
    character.
    """
    text = piece.replace("\u2581", "")

    def fits(span):
        stretch = context[slice(*span)]
        found = sentencepiece_text(stretch, do_lower_case)
        words = found.split() if len(stretch) == 1 else []
        is_part = len(words) > 1 and any(text in word for word in words)
        return found == text or is_part

    behind = context[theirs[1] : ours[1]]
    lacks_accents = ours[0] == theirs[0] and bool(behind)
    lacks_accents = lacks_accents and all(map(unicodedata.combining, behind))
    return fits(ours) and (lacks_accents or not fits(theirs))


def _compare_positions(recorded, tokenizer, ours):
    """Adds first and last token of the answers; returns a note on better ones.

    Ours are better where they give back the answer as it is written, and the recorded
    ones do not; and then in the question's other windows, where both follow from that.
    """
    expected = recorded.arrays
    if not all(name in expected for name in _POSITIONS):
        return {}
    windows, rows = _windows(recorded, tokenizer, is_training=True)
    theirs = np.column_stack([expected[name] for name in _POSITIONS])
    found = theirs.copy()
    firsts = _first_tokens(windows, recorded.sizes)
    improved, differing, better = {}, [], 0
    for index, key in enumerate(recorded.window_keys()):
        row = rows.get(key)
        label = windows.answers[row].tolist() if row is not None else [-1] * 3
        recorded_label = theirs[index].tolist()
        if label == recorded_label:
            continue
        found[index] = label
        if row is None:
            continue
        differing.append((index, row))
        span = _recorded_span(expected, index)
        if _is_better_answer(windows, row, label, recorded_label, span):
            shift = firsts[row] - windows.first_lengths[row]
            improved[key[0]] = theirs[index, :2] + shift
    for index, row in differing:
        answer = improved.get(windows.questions[windows.question_index[row]].id)
        if answer is not None and theirs[index].tolist() == _label_of(
            answer, windows, row, firsts[row]
        ):
            better += 1
            found[index] = theirs[index]
    ours |= dict(zip(_POSITIONS, found.T, strict=True))
    note = f"better than recorded: {better}"
    return dict.fromkeys(_POSITIONS, note) if better else {}


def _label_of(answer, windows, row, first_token):
    """Returns a window's first and last answer token, 0, 0 without; and if without.

    Args:
        answer: first and last token in the paragraph.
        first_token: the window's first, in the paragraph.
    """
    before = windows.first_lengths[row]
    tokens = windows.lengths[row] - before - 1
    inside = first_token <= answer[0] and answer[1] < first_token + tokens
    places = (answer - first_token + before).tolist()
    return [*places, 0] if inside else [0, 0, 1]


def _recorded_span(expected, index):
    """Returns the recorded answer's span of characters; None without an answer."""
    first = expected["paragraph_start"][index]
    start, end = (expected[name][index] - first for name in _POSITIONS[:2])
    if start < 0:
        return None
    return expected[_MAPS[0]][index, start], expected[_MAPS[1]][index, end] + 1


def _is_better_answer(windows, row, ours, theirs, their_span):
    """Returns whether our label leads to the answer's text, the recorded one to more.

    That is so where the recorded maps are wrong, or the answer is within a word.
    """
    question = windows.question_index[row]
    context = windows.contexts[question]
    answers = windows.questions[question].answers
    if ours[2] or theirs[2] or not answers or their_span is None:
        return False
    spans = windows.spans[windows.starts[row] :]
    text = answers[0].text.strip()
    found, recorded = (
        context[spans[start, 0] : spans[end, 1]].strip()
        for start, end, _ in (ours, theirs)
    )
    start, end = answers[0].start, answers[0].start + len(answers[0].text)
    covers = their_span[0] <= start and end <= their_span[1]
    return found == text and recorded != text and covers
