"""How good searches and answers are: labelled questions, measures, saved runs."""
