"""The comments stage: topics in layers, their names, and a map of comments. Pure; start at `stage.analyse_comments`."""
