"""A host over HTTP: authentication, one error envelope, server-sent events, the APIs of the kit, and the console.

    async with Host.open(settings, applications) as host:
        app = create_app(host)                          an ASGI application for uvicorn

`create_app` is imported from `gateleg.web.app`. What applications declare is in `gateleg.host`; what their routes need is in
`gateleg.web.access` (who calls), `gateleg.web.bodies`, `gateleg.web.uploads` and `gateleg.web.api.pages`.
"""
