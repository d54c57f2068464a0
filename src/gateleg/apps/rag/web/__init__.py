"""The HTTP routes of document collections (`*_api`), their views, and the console pages (`*_page`, `*_part`)."""
