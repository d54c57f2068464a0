"""Running agents: a question becomes a run, a job answers it, and what the model writes is streamed.

Handlers of your own derive from `AgentHandler` and register by an entry point of the group `gateleg.agent_handlers`.
"""

from gateleg.apps.agents.running.handlers.contract import AgentHandler

__all__ = ["AgentHandler"]
