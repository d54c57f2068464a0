"""The theme of the console: a light and a dark palette, as CSS variables.

Pages use classes of `static/console.css` and never their own colours. Status colours are safe for colour-blind people and always come with
an icon and a label; `*-text` is the same hue with enough contrast for text on every surface of its theme (WCAG AA).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["Kind"]

#: The meanings of colours.
Kind = Literal["waiting", "running", "done", "failed", "cancelled", "warning", "neutral"]

LIGHT: Mapping[str, str] = {
    "page": "#FAFAFA",
    "surface": "#FFFFFF",
    "sunken": "#F4F4F5",
    "raised": "#FFFFFF",
    "hover": "#F4F4F5",
    "line": "#E4E4E7",
    "line-strong": "#D4D4D8",
    "control-line": "#8B8B94",
    "text": "#18181B",
    "muted": "#52525B",
    "faint": "#696972",
    "link": "#00609A",
    "focus": "#0072B2",
    "primary": "#18181B",
    "on-primary": "#FFFFFF",
    "danger": "#B23F00",
    "on-danger": "#FFFFFF",
    "waiting": "#6B7280",
    "running": "#0072B2",
    "done": "#009E73",
    "failed": "#D55E00",
    "cancelled": "#7A5C99",
    "warning": "#E69F00",
    "waiting-text": "#4B5563",
    "running-text": "#005A8C",
    "done-text": "#006B4E",
    "failed-text": "#A03F00",
    "cancelled-text": "#664785",
    "warning-text": "#7A5200",
}
DARK: Mapping[str, str] = {
    "page": "#0E0F11",
    "surface": "#16171A",
    "sunken": "#1D1F23",
    "raised": "#1F2126",
    "hover": "#1F2126",
    "line": "#2A2C32",
    "line-strong": "#3A3D44",
    "control-line": "#71757F",
    "text": "#ECEDEF",
    "muted": "#B0B3BA",
    "faint": "#989CA5",
    "link": "#74BFF0",
    "focus": "#56B4E9",
    "primary": "#ECEDEF",
    "on-primary": "#16171A",
    "danger": "#FF9A66",
    "on-danger": "#1B0E06",
    "waiting": "#9CA3AF",
    "running": "#56B4E9",
    "done": "#2FBF93",
    "failed": "#F5853F",
    "cancelled": "#B294D1",
    "warning": "#F0B429",
    "waiting-text": "#B4BAC4",
    "running-text": "#7CC5F0",
    "done-text": "#53D3AB",
    "failed-text": "#FFA36E",
    "cancelled-text": "#C8AFE2",
    "warning-text": "#F5C55C",
}


def tokens_css() -> str:
    """Both palettes as CSS variables. `data-theme` on the root element chooses one; without it, the system does."""
    light, dark = _variables(LIGHT), _variables(DARK)
    return (
        f":root{{color-scheme:light;{light}}}"
        f'@media (prefers-color-scheme:dark){{:root:not([data-theme="light"]){{color-scheme:dark;{dark}}}}}'
        f':root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
    )


def _variables(palette: Mapping[str, str]) -> str:
    return "".join(f"--{name}:{value};" for name, value in palette.items())


def contrast(one: str, other: str) -> float:
    """The contrast ratio of two colours by WCAG, from 1 to 21."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
