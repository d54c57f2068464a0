"""Evaluate searches and answers: golden sets, metrics and stored runs."""
