"""Chat and embedding models behind two protocols; local ones by default."""
