"""What is seen, in words: scene texts and lyrics."""
