"""The packages of the extra `mv`, by import name."""

PACKAGES = ("av", "numpy", "skia", "PIL", "font_manrope", "font_source_serif_pro", "font_amatic_sc", "font_fredoka_one")
