"""Marked texts, spans in addresses and boxes over a page: nothing of a document is taken for markup."""

from gateleg.apps.rag.inspecting.page_rendering import PageSize
from gateleg.apps.rag.web.markup import Outline, clip_span, mark_spans, overlay_svg, parse_span
from gateleg.apps.rag.web.page_inspector import Pointer


def test_texts_are_escaped_inside_and_outside_of_marks() -> None:
    assert mark_spans("<b>a</b> & c", [(3, 4), (9, 10)]) == "&lt;b&gt;<mark>a</mark>&lt;/b&gt; <mark>&amp;</mark> c"
    assert mark_spans("abc", [(0, 2), (1, 3)]) == "<mark>ab</mark>c"


def test_spans_of_addresses() -> None:
    assert parse_span("10-20") == (10, 20)
    assert [parse_span(text) for text in ("", "20-10", "5-5", "a-b", "1-2x", "-1-2", "1" * 12 + "-9")] == [None] * 7
    assert Pointer.of("3", "x", "1-2") == Pointer(3, None, (1, 2))
    assert Pointer.of("", "²", "") == Pointer()


def test_the_part_of_a_span_in_a_passage() -> None:
    assert clip_span((10, 20), 5, 15) == [(5, 10)]
    assert clip_span((10, 20), 12, 30) == [(0, 8)]
    assert clip_span((10, 20), 20, 30) == []
    assert clip_span(None, 0, 5) == []


def test_boxes_lie_over_the_page() -> None:
    outlines = [Outline('Passage "1"', "/a?b=1&c=2", [(10, 20, 110.5, 32)], pointed=True), Outline("Passage 2", "/x", [])]
    drawn = overlay_svg(PageSize(612, 792), outlines, [(1, 2, 3, 4)])
    assert 'viewBox="0 0 612 792"' in drawn
    assert '<rect class="" x="10" y="20" width="100.5" height="12"/>' in drawn
    assert '<rect class="span" x="1" y="2" width="2" height="2"/>' in drawn
    assert "&quot;1&quot;" in drawn
    assert 'href="/a?b=1&amp;c=2"' in drawn
    assert "Passage 2" not in drawn
