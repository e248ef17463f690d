"""HTML pages: stretches of a text in the colours of spans."""

from albert_tf.display.html_page import coloured


def test_spans_may_lie_apart_and_overlap():
    spans = {"gold": [(0, 2), (1, 3), (4, 6)], "predicted": [(2, 5)]}
    stretches = [
        ("a", "gold"),
        ("&lt;", "gold"),
        ("c", "gold predicted"),
        ("d", "predicted"),
        ("e", "gold predicted"),
        ("f", "gold"),
    ]
    marks = (f'<mark class="{name}">{text}</mark>' for text, name in stretches)
    assert coloured("a<cdefg", spans) == "".join(marks) + "g"
    assert coloured("", {"gold": []}) == ""
