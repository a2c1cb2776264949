"""What the search page knows of the other pages. How it's searched: test_handouts.py."""

import json

from bs4 import BeautifulSoup

from helpers.publish.handouts import page_problems
from helpers.publish.lesson import SCRIPTS, filled
from helpers.publish.search import Entry, entries, search_page

LESSON = """<title>02 Copy · Zero copy, measured</title>
<main><header><h1>Copy</h1></header><p>Opening
text.</p><h2 id="One-way">One  <code>way</code></h2><p>Call <code>f(mmap_mode="r")</code>.</p>
<ul><li>an item</ul>
<pre><span>a = </span>1
b[0] = 2</pre><details class="folded"><summary>imports</summary><pre>import os</pre></details>
<table><tr><td>one<td>2</table><h3 id="Quiz">Quiz</h3>
<details class="zc-choice"><summary>(a) Yes.</summary>
<p>Right: told.</p></details><section class="answers"><h2>Answers</h2>told again</section></main>"""
OTHERS = """<title>Others</title>
<main><h1>Claims</h1><section><h2>Lesson 02</h2><article id="is-free">
<h3 id="is-free-said">“It is free.”</h3><p>False.</p></article></section>
<dl class="glossary"><div id="page"><dt>page</dt><dd>4 KiB &amp; more.</dd></div></dl></main>"""


def cut(html: str, spoils: bool = False) -> list[Entry]:
    return entries(BeautifulSoup(html, "html.parser"), spoils)


def test_a_page_is_cut_at_its_headings_claims_and_terms():
    code = 'Call f(mmap_mode="r").\nan item\na = 1\nb[0] = 2\none 2'
    assert cut(LESSON) == [
        ("", "Copy", "Opening text."),
        ("One-way", "One way", code),
        ("Quiz", "Quiz", "(a) Yes."),
    ]
    assert cut(OTHERS) == [
        ("is-free", "“It is free.”", "False."),
        ("page", "page", "4 KiB & more."),
    ]


def test_only_an_instructor_finds_the_answers_of_a_quiz():
    assert "told" not in str(cut(LESSON))
    assert cut(LESSON, spoils=True)[-1].text == "(a) Yes.\nRight: told."


def test_no_text_of_a_page_ends_the_data_or_becomes_a_script():
    text = "</template></script><script>alert(1)</script><!-- &amp; &lt; \\u003c"
    escaped = text.replace("&", "&amp;").replace("<", "&lt;")
    pages = {
        "student/a.html": (
            f"<title>A</title><main><h1>{escaped}</h1><h2 id='b'>{escaped}</h2>{escaped}</main>"
        )
    }
    html = filled("search.html.j2", page="search.html", **search_page(pages, "student"))
    tree = BeautifulSoup(html, "html.parser")
    data = json.loads(tree.select_one("#sections").string)
    assert data == [{"page": "a.html", "title": "A", "entries": [["b", text, text]]}]
    assert {script.get_text() for script in tree.find_all("script")} <= {*SCRIPTS.values()}
    assert tree.select_one("#all li").get_text() == text
    problems = page_problems(
        {"student/a.html": "<script>alert(1)</script>", "student/b.html": html}
    )
    refused = "student/a.html: a script; show something that needs none"
    assert [problem for problem in problems if "script" in problem] == [refused]
