"""Agents as an application of a host."""

import subprocess
import sys
from pathlib import Path

from gateleg.apps.agents.application import application
from gateleg.apps.agents.catalogue_tables import Llm
from gateleg.host.host import Host
from gateleg.host.settings import load_settings


def test_declaring_it_loads_neither_graphql_nor_mcp_nor_models() -> None:
    code = (
        "import sys, gateleg.apps.agents.application\n"
        "print([name for name in ('strawberry', 'mcp', 'numpy', 'xllamacpp', 'fastapi') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"


async def test_doctor_tells_whether_there_is_a_model(tmp_path: Path) -> None:
    flags = {"store": "embedded::memory:", "objects": f"dir:{tmp_path}/objects", "data": tmp_path}
    async with Host.open(load_settings(flags=flags, environ={}), [application]) as host:
        assert application.checks is not None
        (check,) = application.checks(host.resources[application.name])
        async for found in host.store.query(Llm.everything):
            await host.store.delete(found)
        assert (await check.run()).status == "warning"
        await host.store.create(Llm(llm_provider="local", llm_name="small", module_name="m", class_name="C"))
        assert (await check.run()).status == "ok"
