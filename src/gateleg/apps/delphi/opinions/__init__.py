"""The votes stage: groups, what sets them apart, and what all share. Pure; `stage.analyse` is the whole of it."""
