"""Evaluating agents: saved questions with checks, asked of two versions, side by side."""
