"""Run agents: a question becomes a run, a job answers it, and the model's output is streamed.

To add a model provider, subclass `AgentHandler` and register it as an entry point of the group `gateleg.agent_handlers`.
"""

from gateleg.apps.agents.running.handlers.contract import AgentHandler

__all__ = ["AgentHandler"]
