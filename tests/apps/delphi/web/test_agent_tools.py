"""What agents may look up in conversations, with the rights of whoever asks."""

from pathlib import Path

import pytest

from gateleg.host import Principal, Role
from gateleg.host.errors import Unknown
from tests.apps.delphi.served import GROUP, serving

MEMBER = Principal("ann", Role.MEMBER, frozenset({GROUP}))
STRANGER = Principal("eve", Role.MEMBER, frozenset({"others"}))


async def test_agents_look_up_groups_and_common_ground(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        tools = {tool.name: tool for tool in served.host.tools_for(MEMBER)}
        assert "town" in await tools["delphi.conversations"].call(MEMBER, {})
        groups = await tools["delphi.groups"].call(MEMBER, {})
        assert "participants cast" in groups
        assert "Group 1 has" in groups
        assert groups == await tools["delphi.groups"].call(MEMBER, {"conversation": "town"})
        common = await tools["delphi.common_ground"].call(MEMBER, {"conversation": "town"})
        assert "agree" in common
        # Nothing of it reaches somebody who may not see the conversation.
        assert await tools["delphi.conversations"].call(STRANGER, {}) == "There are no conversations."
        for name in ("delphi.groups", "delphi.common_ground"):
            with pytest.raises(Unknown):
                await tools[name].call(STRANGER, {"conversation": "town"})
            with pytest.raises(Unknown):
                await tools[name].call(STRANGER, {})
