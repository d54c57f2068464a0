"""The comments stage: topics in layers, their names, and a map of comments. Pure; `stage.analyse_comments` is the whole of it."""
