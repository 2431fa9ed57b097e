from unsway.report import Figure, Page, Table, Text

HOSTILE = "<script>alert(1)</script>\"quoted\" & 'so'"


def page(words=HOSTILE):
    return Page(
        title=words,
        lead=words,
        sections=[
            Text(words, [words]),
            Table(words, [words, words], [[words, words]]),
            Figure(words, words, "<svg></svg>"),
        ],
    ).render()


def test_hostile_words_are_shown_and_never_run():
    html = page()
    assert "<script" not in html
    assert html.count("&lt;script&gt;alert(1)&lt;/script&gt;") == 14


def test_a_page_asks_the_network_for_nothing():
    html = page("plain")
    assert "default-src 'none'" in html
    assert "http" not in html.replace("http-equiv", "")


def test_a_page_without_charts_has_no_script_and_no_slider():
    html = page("plain")
    assert "script-src" not in html
    assert 'id="strength"' not in html


def test_the_first_column_names_the_rows():
    html = Page("t", "l", [Table("c", ["model", "gap"], [["blind", "0.3"]])]).render()
    assert '<th scope="row">blind</th><td>0.3</td>' in html
