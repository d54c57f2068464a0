"""What the extra `delphi` installs, by the names under which it is imported."""

NEEDED = ("numpy", "scipy", "sklearn", "tokenizers", "safetensors", "python_calamine")
