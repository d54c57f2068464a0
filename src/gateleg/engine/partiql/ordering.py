"""The order in which DynamoDB lists names that it keeps in a hash set."""


def hash_order(names: list[str]) -> list[str]:
    """Names as a Java hash set gives them back: by the low bits of their hashes, then in the order of their arrival."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _spread(name) & (size - 1))


def _spread(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        code = (code * 31 + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)
