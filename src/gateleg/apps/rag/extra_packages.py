"""The packages of the extra `rag`, by their import names."""

PACKAGES = (
    "numpy",
    "usearch",
    "apsw",
    "snowballstemmer",
    "pypdfium2",
    "docx",
    "pptx",
    "python_calamine",
    "selectolax",
    "trafilatura",
    "tesserocr",
)
