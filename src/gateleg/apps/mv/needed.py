"""What the extra `mv` installs, by the names under which it is imported."""

NEEDED = ("av", "numpy", "skia", "PIL", "font_manrope", "font_source_serif_pro", "font_amatic_sc", "font_fredoka_one")
