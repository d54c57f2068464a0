// Shows the OpenAPI document of this host in Swagger UI, and calls the host with the session or the key of whoever reads it.
(() => {
  const system = matchMedia("(prefers-color-scheme: dark)");
  const chosen = document.cookie.match(/gateleg_theme=(light|dark)/)?.[1];
  const draw = () => document.documentElement.classList.toggle("dark-mode", chosen ? chosen === "dark" : system.matches);
  draw();
  system.addEventListener("change", draw);

  // What writes in a session needs the session's token; a key needs none.
  const csrfToken = async () => {
    const response = await fetch("/api/session", { headers: { Accept: "application/json" } });
    return response.ok ? (await response.json()).csrf_token : null;
  };
  SwaggerUIBundle({
    url: "/api/openapi.json",
    dom_id: "#api",
    deepLinking: true,
    docExpansion: "none",
    defaultModelsExpandDepth: -1,
    displayRequestDuration: true,
    filter: true,
    // A key is forgotten with the page.
    persistAuthorization: false,
    // No other host is asked whether the document is valid.
    validatorUrl: null,
    requestInterceptor: async (request) => {
      const writes = !["GET", "HEAD"].includes((request.method ?? "GET").toUpperCase());
      if (writes && !request.headers.Authorization) request.headers["X-CSRF-Token"] = (await csrfToken()) ?? "";
      return request;
    },
  });
})();
