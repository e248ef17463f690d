"""HTML pages: a model's mistakes, and runs side by side."""

import html
import itertools

from albert_tf.io.files import write_atomically

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --line: #bbb; --faint: #666; --gold: #b7e4c0;
        --predicted: #f6c1bd; --both: #f5e39a; }}
@media (prefers-color-scheme: dark) {{
  :root {{ --line: #555; --faint: #aaa; --gold: #1f5a30; --predicted: #7a2e2a;
          --both: #6b5a10; }}
}}
body {{ font: 16px/1.5 sans-serif; max-width: 50em; margin: 2em auto; padding: 0 1em;
       overflow-wrap: anywhere; }}
article {{ border-top: 1px solid var(--line); padding: 0.5em 0; }}
h1 {{ font-size: 1.5em; }}
h2 {{ font-size: 1em; margin: 0.5em 0; }}
.id {{ color: var(--faint); font-weight: normal; }}
.context {{ white-space: pre-wrap; }}
table {{ border-collapse: collapse; font-size: 0.9em; }}
th, td {{ border-bottom: 1px solid var(--line); padding: 0.2em 0.8em;
         text-align: right; }}
th:first-child, td:first-child {{ text-align: left; }}
.scrolled {{ overflow-x: auto; }}
svg {{ width: 100%; height: auto; background: white; }}
mark {{ color: inherit; padding: 0.1em 0; }}
.gold {{ background: var(--gold); }}
.predicted {{ background: var(--predicted); text-decoration: underline dotted; }}
.gold.predicted {{ background: var(--both); }}
</style>
</head>
<body>
<h1>{title}</h1>
<p>{introduction}</p>
{articles}
</body>
</html>
"""
_ARTICLE = """<article>
<h2><bdi>{heading}</bdi> <span class="id">{identity}</span></h2>
{facts}
<p class="context" dir="auto">{context}</p>
</article>"""
EXPECTED = '<mark class="gold">expected</mark>'
ANSWERED = '<mark class="predicted">answered</mark>'
BOTH = '<mark class="gold predicted">both</mark>'
"""The legend's entry for text in both colours."""


def write_page(path, title, introduction, articles):
    """Writes a page of `article`s; `introduction` is the HTML of a paragraph."""
    page = _PAGE.format(
        title=html.escape(title),
        introduction=introduction,
        articles="\n".join(articles),
    )
    write_atomically(path, page)


def article(heading, identity, facts, context):
    """Renders a mistake; `facts` and `context` are HTML, the other arguments text."""
    return _ARTICLE.format(
        heading=html.escape(heading),
        identity=html.escape(identity),
        facts=facts,
        context=context,
    )


def table(header, rows):
    """Renders a table; `header` is a list of HTML, `rows` are lists of text."""
    head = "".join(f"<th>{cell}</th>" for cell in header)
    body = "\n".join(
        f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>"
        for row in rows
    )
    return f'<div class="scrolled"><table>\n<tr>{head}</tr>\n{body}\n</table></div>'


def isolated(text):
    """Renders a text whose writing direction does not affect its surroundings."""
    return f"<bdi>{html.escape(text)}</bdi>"


def marked(text, classes):
    """Renders a text in the colours of its classes, "gold" and "predicted"."""
    text = html.escape(text)
    return f'<mark class="{" ".join(classes)}">{text}</mark>' if classes else text


def coloured(context, spans):
    """Renders a text with each stretch in the colours of the spans that cover it.

    Args:
        context: the text.
        spans: a dict from each class to a list of (start, end) in characters.
    """
    steps = {0: [], len(context): []}  # classes whose spans begin or end there
    for name, found in spans.items():
        for first, last in found:
            steps.setdefault(first, []).append((name, 1))
            steps.setdefault(last, []).append((name, -1))
    parts, depth = [], dict.fromkeys(spans, 0)
    for start, end in itertools.pairwise(sorted(steps)):
        for name, step in steps[start]:
            depth[name] += step
        classes = [name for name, spans_here in depth.items() if spans_here > 0]
        parts.append(marked(context[start:end], classes))
    return "".join(parts)
