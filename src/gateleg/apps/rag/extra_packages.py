"""What the extra `rag` installs, by the names under which it is imported."""

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
