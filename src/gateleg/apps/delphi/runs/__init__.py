"""What is kept of runs: tables of each stage, rows to and from findings, uploads, and the stages run under their jobs."""
