"""Tables of Markdown, with rows that name their columns."""

from gateleg.apps.rag.parsing.markdown_tables import spell_out_tables

TABLE = "Prices:\n\n| Item | Price |\n| :-- | --: |\n| Lamp | 12 |\n| A \\| B | 3 |\n\nAfter.\n"


def test_rows_name_their_columns_and_the_rest_stays() -> None:
    assert spell_out_tables(TABLE) == "Prices:\n\nItem | Price\nItem: Lamp; Price: 12\nItem: A | B; Price: 3\n\nAfter.\n"
    assert spell_out_tables("Item | Price\n--- | ---\nLamp | 12") == "Item | Price\nItem: Lamp; Price: 12\n"


def test_code_and_lines_with_bars_are_not_tables() -> None:
    for text in (f"```\n{TABLE}```\n", "a | b\nc | d\n", "Either | or\n---\n", "no bars\n"):
        assert spell_out_tables(text) == text
