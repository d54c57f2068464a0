"""Keys for hypothesis: valid ones that are difficult for file systems, and invalid ones."""

from hypothesis import strategies as st

from gateleg.model.errors import S3KeyRefused
from gateleg.model.types import check_s3_key


def is_key(text: str) -> bool:
    try:
        check_s3_key(text)
    except S3KeyRefused:
        return False
    return True


_SEGMENTS = st.one_of(
    st.sampled_from(
        ["", "a", "A", "con", "nul.txt", "..a", "...", "a.", "a ", "=a", "+a", "~a", "%41", "é", "e\u0301", "İ", "ß", "x" * 80, "x" * 81]
    ),
    st.sampled_from(["x" * 80 + "!", "x" * 80 + "0", "x" * 300, "ü" * 200]),
    st.text(max_size=12),
)
ANY_TEXT = st.one_of(st.lists(_SEGMENTS, min_size=1, max_size=5).map("/".join), st.text(max_size=40))
KEYS = ANY_TEXT.filter(is_key)
NO_KEYS = st.one_of(
    st.sampled_from(
        ["", "/", "..", ".", "../x", "a/..", "/etc/passwd", "a/./b", "x" * 1025, "a\0", "s3://b/k", "a?X-Amz-Signature=1", "a\ud800"]
    ),
    ANY_TEXT.map("../".__add__),
    ANY_TEXT.map("/".__add__),
    st.builds("{}\0{}".format, ANY_TEXT, ANY_TEXT),
)
