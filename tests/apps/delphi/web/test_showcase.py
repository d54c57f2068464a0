from pathlib import Path

from gateleg.apps.delphi.application import find_tiles, search
from gateleg.apps.delphi.service import upload_conversation
from gateleg.host import LOCAL, Principal, Role
from tests.apps.delphi.served import conversation, serving


async def test_a_report_is_shown_with_its_map_and_leads_to_its_conversation(tmp_path: Path) -> None:
    async with serving(tmp_path) as served:
        await upload_conversation(served.host.store, conversation("not mapped"))
        (made,) = await find_tiles(served.host.resources["delphi"], LOCAL)
        assert (made.title, made.href) == ("What should our town do next?", "/delphi/town")
        assert made.picture is not None
        picture = await served["viewer"].get(made.picture)
        assert (picture.status_code, picture.headers["content-type"].partition(";")[0]) == (200, "image/svg+xml")


async def test_members_see_and_find_what_belongs_to_them_or_to_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path, "council") as served:
        resources = served.host.resources["delphi"]
        insider, outsider = Principal("ann", Role.MEMBER, frozenset({"council"})), Principal("bob", Role.MEMBER)
        for principal, seen in ((insider, 1), (outsider, 0), (LOCAL, 1)):
            assert len(await find_tiles(resources, principal)) == seen
            found = await search(resources, principal, "TOWN next")
            assert [one.href for one in found] == ["/delphi/town"][:seen]
        assert await search(resources, LOCAL, "village") == []
