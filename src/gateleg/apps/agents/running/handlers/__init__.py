"""How the models of agents are asked: one handler for each provider, and those that packages register."""
