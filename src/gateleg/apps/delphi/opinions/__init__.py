"""The votes stage: finds opinion groups, their representative comments and consensus. Pure; start at `stage.analyse`."""
