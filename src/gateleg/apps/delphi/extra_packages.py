"""The packages of the extra `delphi`, by their import names."""

PACKAGES = ("numpy", "scipy", "threadpoolctl", "tokenizers", "safetensors", "python_calamine")
