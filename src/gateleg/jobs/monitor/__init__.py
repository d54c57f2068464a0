"""Looking at the queue: statistics, lists, logs, trees."""
