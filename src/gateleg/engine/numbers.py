"""DynamoDB's numbers: up to 38 significant digits, between 1E-130 and 9.99...E+125 in magnitude, kept as canonical text."""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from functools import lru_cache
from re import compile as pattern

from gateleg.engine.errors import EngineError, ValueFault, validation

DIGITS = 38
MAX_EXPONENT = 125
MIN_EXPONENT = -130

#: Wide enough for any sum of two numbers in range to be exact, so that a result of more than 38 digits is seen and refused.
EXACT = Context(prec=300, rounding=ROUND_HALF_EVEN, Emax=999_999, Emin=-999_999)

OVERFLOW = "Number overflow. Attempting to store a number with magnitude larger than supported range"
UNDERFLOW = "Number underflow. Attempting to store a number with magnitude smaller than supported range"
UNREADABLE = "The parameter cannot be converted to a numeric value"

_NUMBER = pattern(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,9})?", 256)
_FAR = pattern(r"[+-]?(\d*)\.?(\d*)[eE]([+-]?\d{1,20})", 256)
_PLAIN = pattern(r"0|-?[1-9]\d{0,36}", 256)
#: More characters than the usual spellings of any number have.
_LONG = 256


@lru_cache(maxsize=65536)
def canonical(text: str) -> str:
    """The one spelling of a number: no exponent, no leading or trailing zeros, no plus, no minus zero."""
    if _PLAIN.fullmatch(text):
        return text
    if not _NUMBER.fullmatch(text):
        raise _unreadable(text)
    if len(text) > _LONG:
        # What is kept is kept by its text, and zeros may make that as long as a request.
        canonical.cache_clear()
    number = Decimal(text)
    try:
        if not number:
            _check_magnitude(number.adjusted())
        return spell(number)
    except EngineError as error:
        raise ValueFault(error.message or "") from None


def _unreadable(text: str) -> ValueFault:
    """The fault of a text that is not a number, or one with an exponent far out of range: for those the two checks have different words."""
    told = f"{UNREADABLE}: {text}"
    match = _FAR.fullmatch(text)
    if match is None or not match[1] + match[2]:
        return ValueFault(told if text else UNREADABLE, told)
    exponent = int(match[3])
    newer = told if not -(2**63) <= exponent < 2**63 else OVERFLOW if exponent > 0 else UNDERFLOW
    return ValueFault(_java_fault(match[1], match[2], exponent) or told, newer)


def _java_fault(whole: str, fraction: str, exponent: int) -> str | None:
    """The older check's words for a number of this exponent; none if Java cannot read it, for an exponent or a scale of over 32 bits."""
    scale = len(fraction) - exponent
    if not -(2**31) <= exponent < 2**31 or not -(2**31) <= scale < 2**31:
        return None
    digits = len((whole + fraction).lstrip("0")) or 1
    # The magnitude is reckoned in 32 bits too, and comes out negative when it does not fit.
    magnitude = (digits - scale + 2**31) % 2**32 - 2**31
    return OVERFLOW if magnitude > 0 else UNDERFLOW


def _check_magnitude(magnitude: int) -> None:
    if magnitude > MAX_EXPONENT:
        raise validation(OVERFLOW)
    if magnitude < MIN_EXPONENT:
        raise validation(UNDERFLOW)


def spell(number: Decimal) -> str:
    """The canonical text of a decimal, refused if DynamoDB could not hold it exactly."""
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
    """Bytes that DynamoDB counts for a canonical number: one, and one for each pair of significant digits, and one for a minus."""
    digits, exponent, negative = _significant(text)
    if not digits:
        return 1
    odd = exponent % 2
    return 1 + (len(digits) + odd + 1) // 2 + negative


@lru_cache(maxsize=65536)
def encode(text: str) -> bytes:
    """Bytes whose order is the numbers' order: an exponent of base 100, then its digits, complemented for negative numbers."""
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
    """The number that `encode` made these bytes of."""
    head, pairs = encoded[0], encoded[1:]
    negative = head < 0x80
    if negative:
        head, pairs = head ^ 0xFF, bytes(101 - p for p in pairs if p != 102)
    else:
        pairs = bytes(p - 1 for p in pairs)
    digits = "".join(f"{p:02d}" for p in pairs)
    return spell(Decimal(f"{'-' if negative else ''}0.{digits or '0'}E{(head - 0xC0) * 2}"))


def _significant(text: str) -> tuple[str, int, bool]:
    """The significant digits of a canonical number, the exponent that makes it 0.digits x 10^exponent, and whether it is negative."""
    negative = text[0] == "-"
    if negative:
        text = text[1:]
    whole, _, fraction = text.partition(".")
    if whole != "0":
        return (whole + fraction if fraction else whole.rstrip("0")), len(whole), negative
    digits = fraction.lstrip("0")
    return digits, len(digits) - len(fraction), negative
