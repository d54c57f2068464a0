"""DynamoDB's numbers: up to 38 significant digits, magnitude between 1E-130 and 9.99...E+125, stored as canonical strings."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from re import compile as pattern

from gateleg.engine.errors import EngineError, InvalidValueError, validation

DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

#: Precise enough for any sum of two numbers in range to be exact, so that results with more than 38 digits are detected.
EXACT = Context(prec=300, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
NOT_A_NUMBER = "The parameter cannot be converted to a numeric value"

_NUMBER = pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", 256)
_LARGE_EXPONENT = pattern(r"[+-]?(\d*+)\.?(\d*+)[eE]([+-]?\d{1,20})", 256)
_PLAIN_INTEGER = pattern(r"0|-?[1-9]\d{0,36}", 256)
#: Longer strings are not cached; the usual notations of any number are shorter.
_MAX_CACHED_CHARACTERS = 256


@lru_cache(maxsize=65536)
def canonical(text: str) -> str:
    """The canonical form of a number: no exponent, no leading or trailing zeros, no plus sign, no minus zero."""
    if _PLAIN_INTEGER.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text):
        raise _not_a_number_error(text)
    if len(text) > _MAX_CACHED_CHARACTERS:
        # The cache is keyed by the string, which zeros could make as long as a request.
        canonical.cache_clear()
    number = Decimal(text)
    try:
        if not number:
            _check_magnitude(number.adjusted())
        return format_decimal(number)
    except EngineError as error:
        raise InvalidValueError(error.message or "") from None


def _not_a_number_error(text: str) -> InvalidValueError:
    """The error for a string that is not a number, or whose exponent is far out of range: the two validators have different messages."""
    detail = f"{NOT_A_NUMBER}: {text}"
    match = _LARGE_EXPONENT.fullmatch(text)
    if match is None or not match[1] + match[2]:
        return InvalidValueError(detail if text else NOT_A_NUMBER, detail)
    exponent = int(match[3])
    newer = detail if not -(2**63) <= exponent < 2**63 else OVERFLOW if exponent > 0 else UNDERFLOW
    return InvalidValueError(_older_validator_message(match[1], match[2], exponent) or detail, newer)


def _older_validator_message(whole: str, fraction: str, exponent: int) -> str | None:
    """The older validator's message for a number with this exponent; None if Java cannot parse it, because a part exceeds 32 bits."""
    scale = len(fraction) - exponent
    if not -(2**31) <= exponent < 2**31 or not -(2**31) <= scale < 2**31:
        return None
    digits = len((whole + fraction).lstrip("0")) or 1
    # Java computes the magnitude in 32 bits too, so that it overflows to a negative number.
    magnitude = (digits - scale + 2**31) % 2**32 - 2**31
    return OVERFLOW if magnitude > 0 else UNDERFLOW


def _check_magnitude(magnitude: int) -> None:
    if magnitude > MAX_EXPONENT:
        raise validation(OVERFLOW)
    if magnitude < MIN_EXPONENT:
        raise validation(UNDERFLOW)


def format_decimal(number: Decimal) -> str:
    """The canonical form of a decimal; raises DynamoDB's error if it cannot be stored exactly."""
    if not number:
        return "0"
    magnitude = number.adjusted()
    _check_magnitude(magnitude)
    sign, digits, _ = number.as_tuple()
    text = "".join(map(str, digits)).strip("0")
    if len(text) > DIGITS:
        raise validation("Attempting to store more than 38 significant digits in a Number")
    scale = magnitude + 1 - len(text)
    if scale >= 0:
        plain = text + "0" * scale
    elif magnitude >= 0:
        plain = f"{text[: magnitude + 1]}.{text[magnitude + 1 :]}"
    else:
        plain = f"0.{'0' * (-magnitude - 1)}{text}"
    return f"-{plain}" if sign else plain


@lru_cache(maxsize=65536)
def as_decimal(text: str) -> Decimal:
    """The exact value of a canonical number."""
    return Decimal(text)


@lru_cache(maxsize=65536)
def size(text: str) -> int:
    """Size that DynamoDB counts: one byte, one per two significant digits, and one for a minus sign."""
    digits, exponent, negative = _significant(text)
    if not digits:
        return 1
    odd = exponent % 2
    return 1 + (len(digits) + odd + 1) // 2 + negative


@lru_cache(maxsize=65536)
def measured(text: str) -> tuple[str, int]:
    """The canonical form of a number, and its size: every number that is written needs both."""
    if len(text) > _MAX_CACHED_CHARACTERS:
        measured.cache_clear()
    clean = canonical(text)
    return clean, size(clean)


@lru_cache(maxsize=65536)
def encode(text: str) -> bytes:
    """Order-preserving encoding: an exponent of base 100, then the digits, complemented for negative numbers."""
    digits, exponent, negative = _significant(text)
    if not digits:
        return b"\x80"
    if exponent % 2:
        digits, exponent = "0" + digits, exponent + 1
    if len(digits) % 2:
        digits += "0"
    head = (exponent // 2 - 64) & 0xFF
    pairs = [int(digits[i : i + 2]) for i in range(0, len(digits), 2)]
    if not negative:
        return bytes([head, *(p + 1 for p in pairs)])
    tail = [102] if len(pairs) < 20 else []
    return bytes([head ^ 0xFF, *(101 - p for p in pairs), *tail])


def decode(encoded: bytes) -> str:
    """The number that `encode` encoded."""
    head, pairs = encoded[0], encoded[1:]
    negative = head < 0x80
    if negative:
        head, pairs = head ^ 0xFF, bytes(101 - p for p in pairs if p != 102)
    else:
        pairs = bytes(p - 1 for p in pairs)
    digits = "".join(f"{p:02d}" for p in pairs)
    return format_decimal(Decimal(f"{'-' if negative else ''}0.{digits or '0'}E{(head - 0xC0) * 2}"))


def _significant(text: str) -> tuple[str, int, bool]:
    """The significant digits of a canonical number, the exponent e in 0.digits x 10^e, and whether it is negative."""
    negative = text[0] == "-"
    if negative:
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if whole != "0":
        return (whole + fraction if fraction else whole.rstrip("0")), len(whole), negative
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction), negative
