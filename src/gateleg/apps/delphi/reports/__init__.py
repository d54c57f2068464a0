"""What people look at: findings in words, maps, the report and its files."""
