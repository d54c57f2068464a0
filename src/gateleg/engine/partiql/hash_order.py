"""The order in which DynamoDB lists names from a hash set."""


def hash_order(names: list[str]) -> list[str]:
    """Names in the order of a Java HashSet: by the low bits of their hashes, then by insertion."""
    size = 16
    while len(names) > size * 3 // 4:
        size *= 2
    return sorted(names, key=lambda name: _spread(name) & (size - 1))


def _spread(text: str) -> int:
    code = 0
    for unit in memoryview(text.encode("utf-16-le", "surrogatepass")).cast("H"):
        code = (code * 31 + unit) & 0xFFFFFFFF
    return code ^ (code >> 16)
