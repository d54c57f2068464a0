"""What the extra `delphi` installs, by the names under which it is imported."""

PACKAGES = ("numpy", "scipy", "threadpoolctl", "tokenizers", "safetensors", "python_calamine")
