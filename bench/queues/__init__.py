"""Job queues, each in a module with the same verbs: `submit`, `submit_many` and `work`. `python -m queues NAME VERB NUMBER` runs one."""
