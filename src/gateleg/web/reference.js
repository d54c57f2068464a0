// The forms of the API documentation: each sends its operation to this host and shows the response.
// Without scripts the page is complete except for them.
"use strict";

(() => {
  const MOST_SHOWN = 200_000;
  let built = 0;

  function make(name, properties = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) {
      if (key.includes("-") || key === "role" || key === "for") element.setAttribute(key, value);
      else element[key] = value;
    }
    element.append(...children);
    return element;
  }

  function inputFor(parameter, id) {
    const required = Boolean(parameter.required);
    const hint = "default" in parameter ? String(parameter.default) : "";
    const choices = parameter.input === "boolean" ? [true, false] : parameter.choices;
    if (choices) {
      const options = choices.map((choice) => make("option", { value: String(choice) }, String(choice)));
      if (!required) options.unshift(make("option", { value: "" }, hint ? `default: ${hint}` : "not sent"));
      return make("select", { id, required }, ...options);
    }
    if (parameter.input === "list") return make("textarea", { id, required, rows: 2 });
    const number = parameter.input === "integer" || parameter.input === "number";
    const input = make("input", { id, required, type: number ? "number" : "text", placeholder: hint, autocomplete: "off", spellcheck: false });
    if (parameter.input === "number") input.step = "any";
    return input;
  }

  function labelled(id, text, input, note) {
    const label = make("label", { for: id }, text);
    if (input.required) label.append(make("em", {}, " required"));
    const parts = [label, input];
    if (note) {
      parts.push(make("small", { id: `${id}-note` }, note));
      input.setAttribute("aria-describedby", `${id}-note`);
    }
    return make("div", { className: input.classList.contains("code") ? "field wide" : "field" }, ...parts);
  }

  function quoted(text) {
    return `'${text.replaceAll("'", "'\\''")}'`;
  }

  function size(bytes) {
    if (bytes < 1000) return `${bytes} bytes`;
    return bytes < 1_000_000 ? `${(bytes / 1000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`;
  }

  async function csrfToken() {
    const response = await fetch("/api/session", { headers: { Accept: "application/json" } });
    return response.ok ? (await response.json()).csrf_token : null;
  }

  class Form {
    constructor(place, call) {
      this.call = call;
      this.id = `call-${++built}`;
      this.inputs = (call.parameters ?? []).map((parameter, number) => [parameter, inputFor(parameter, `${this.id}-${number}`)]);
      this.fields = [];
      this.form = make("form");
      for (const [parameter, input] of this.inputs) {
        const note = parameter.in + (parameter.input === "list" ? ", one value per line" : "");
        this.form.append(labelled(input.id, parameter.name, input, note));
      }
      if (call.body) this.addBody(call.body);
      this.send = make("button", { type: "submit" }, "Send");
      this.stop = make("button", { type: "button", hidden: true }, "Stop");
      this.form.append(make("p", { className: "buttons" }, this.send, this.stop));
      this.form.append(...this.curlPart());
      this.status = make("p", { className: "status", role: "status" });
      this.response = make("div", {});
      place.append(this.form, this.status, this.response);
      this.form.addEventListener("input", () => this.showCurl());
      this.form.addEventListener("submit", (event) => {
        event.preventDefault();
        this.run();
      });
      this.stop.addEventListener("click", () => this.aborting?.abort());
      this.showCurl();
    }

    addBody(body) {
      const id = `${this.id}-body`;
      if (body.fields) {
        for (const [number, field] of body.fields.entries()) {
          const input = make("input", { id: `${id}-${number}`, type: field.file ? "file" : "text", multiple: field.file && field.many });
          this.fields.push([field, input]);
          this.form.append(labelled(input.id, field.name, input, "form field"));
        }
      } else if ("example" in body) {
        const text = body.example === null ? "" : JSON.stringify(body.example, null, 2);
        this.json = make("textarea", { id, value: text, required: body.required, spellcheck: false, className: "code" });
        this.json.rows = Math.min(16, Math.max(4, text.split("\n").length + 1));
        this.problem = make("p", { className: "problem", id: `${id}-problem`, role: "alert" });
        this.json.addEventListener("input", () => this.clearProblem());
        this.form.append(labelled(id, "Body", this.json, "JSON"), this.problem);
      } else {
        this.file = make("input", { id, type: "file", required: body.required });
        this.form.append(labelled(id, "Body", this.file, `a file (${body.type})`));
      }
    }

    curlPart() {
      this.curl = make("pre", { tabIndex: 0, role: "region", "aria-label": "curl command" });
      const copied = make("span", { className: "status", role: "status" });
      const copy = make("button", { type: "button" }, "Copy");
      copy.addEventListener("click", async () => {
        try {
          await navigator.clipboard.writeText(this.curl.textContent);
          copied.textContent = "Copied";
        } catch {
          // Browsers offer the clipboard to secure pages only.
          getSelection().selectAllChildren(this.curl);
          copied.textContent = "Selected: copy it with the keyboard";
        }
        setTimeout(() => (copied.textContent = ""), 4000);
      });
      const summary = make("summary", {}, "As a curl command");
      return [make("details", {}, summary, this.curl, make("p", { className: "buttons" }, copy, copied))];
    }

    values(place) {
      const found = [];
      for (const [parameter, input] of this.inputs) {
        if (parameter.in !== place || input.value === "") continue;
        const values = parameter.input === "list" ? input.value.split("\n").filter((line) => line.trim()) : [input.value];
        for (const value of values) found.push([parameter.name, value]);
      }
      return found;
    }

    address(placeholders = false) {
      const known = new Map(this.values("path"));
      const path = this.call.path.replace(/\{([^}]+)\}/g, (whole, name) =>
        known.has(name) ? encodeURIComponent(known.get(name)).replaceAll("%2F", "/") : placeholders ? whole : "",
      );
      const query = new URLSearchParams(this.values("query")).toString();
      return path + (query && `?${query}`);
    }

    showCurl() {
      const { method, body, streams } = this.call;
      const parts = [`curl${method === "GET" ? "" : ` -X ${method}`}${streams ? " -N" : ""} ${quoted(location.origin + this.address(true))}`];
      parts.push('-H "Authorization: Bearer $KEY"');
      for (const [name, value] of this.values("header")) parts.push(`-H ${quoted(`${name}: ${value}`)}`);
      if (this.json?.value.trim()) parts.push("-H 'Content-Type: application/json'", `--data-raw ${quoted(this.compact())}`);
      if (this.file) parts.push(`-H ${quoted(`Content-Type: ${body.type}`)}`, `--data-binary ${quoted(`@${this.file.files[0]?.name ?? "FILE"}`)}`);
      for (const [field, input] of this.fields) {
        const files = field.file ? [...input.files].map((file) => `@${file.name}`) : [input.value].filter(Boolean);
        for (const value of files.length || !field.file ? files : ["@FILE"]) parts.push(`-F ${quoted(`${field.name}=${value}`)}`);
      }
      this.curl.textContent = parts.join(" \\\n  ");
    }

    compact() {
      return formatted(this.json.value);
    }

    clearProblem() {
      this.problem.textContent = "";
      this.json.removeAttribute("aria-invalid");
    }

    body(headers) {
      if (this.json) {
        if (!this.json.value.trim()) return undefined;
        JSON.parse(this.json.value);
        headers.set("Content-Type", "application/json");
        return this.json.value;
      }
      if (this.file) {
        headers.set("Content-Type", this.call.body.type);
        return this.file.files[0];
      }
      if (!this.fields.length) return undefined;
      const form = new FormData();
      for (const [field, input] of this.fields) {
        for (const value of field.file ? input.files : [input.value].filter(Boolean)) form.append(field.name, value);
      }
      return form;
    }

    async run() {
      const headers = new Headers();
      let body;
      try {
        body = this.body(headers);
      } catch (error) {
        this.json.setAttribute("aria-invalid", "true");
        this.problem.textContent = `The body is not valid JSON: ${error.message}`;
        this.json.focus();
        return;
      }
      this.response.replaceChildren();
      this.status.classList.remove("bad");
      this.status.textContent = "Waiting for the response…";
      this.send.disabled = true;
      this.stop.hidden = false;
      this.aborting = new AbortController();
      const { signal } = this.aborting;
      try {
        for (const [name, value] of this.values("header")) headers.set(name, value);
        if (this.call.method !== "GET") headers.set("X-CSRF-Token", (await csrfToken()) ?? "");
        const started = performance.now();
        const response = await fetch(this.address(), { method: this.call.method, headers, body, signal, redirect: "manual", cache: "no-store" });
        await this.show(response, started);
      } catch (error) {
        this.status.classList.toggle("bad", !signal.aborted);
        this.status.textContent = signal.aborted ? `${this.status.textContent} Stopped.` : `The request failed: ${error.message}`;
      } finally {
        this.send.disabled = false;
        this.stop.hidden = true;
      }
    }

    async show(response, started) {
      if (response.type === "opaqueredirect") {
        this.status.textContent = "The response is a redirect, whose target browsers do not show to pages. The curl command shows it with -i.";
        return;
      }
      const line = `HTTP ${response.status} ${response.statusText}`.trim();
      const lines = [...response.headers].map(([name, value]) => `${name}: ${value}`).join("\n");
      const headers = make("pre", { tabIndex: 0, role: "region", "aria-label": "Response headers" }, lines);
      this.response.append(make("details", {}, make("summary", {}, "Response headers"), headers));
      const kind = (response.headers.get("content-type") ?? "").split(";")[0];
      if (kind === "text/event-stream") {
        await this.follow(response, line);
        return;
      }
      const blob = await response.blob();
      this.status.textContent = `${line} · ${Math.round(performance.now() - started)} ms · ${size(blob.size)}`;
      this.status.classList.toggle("bad", !response.ok);
      if (!blob.size) return;
      if (kind.endsWith("json")) this.showText(formatted(await blob.text(), 2));
      else if (kind.startsWith("text/")) this.showText(await blob.text());
      else this.response.append(make("p", {}, make("a", { href: URL.createObjectURL(blob), download: "response" }, `Save the response (${kind || "bytes"})`)));
    }

    showText(text) {
      const shown = text.slice(0, MOST_SHOWN);
      const body = make("pre", { tabIndex: 0, role: "region", "aria-label": "Response body", className: "response" }, shown);
      this.response.append(body);
      if (shown.length < text.length) this.response.append(make("p", {}, `Only the first ${MOST_SHOWN} characters are shown.`));
      return body;
    }

    async follow(response, line) {
      this.status.textContent = `${line} · receiving events.`;
      const body = this.showText("");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (let part = await reader.read(); !part.done; part = await reader.read()) {
        body.textContent = (body.textContent + part.value).slice(-MOST_SHOWN);
        body.scrollTop = body.scrollHeight;
      }
      this.status.textContent = `${line} · the stream has ended.`;
    }
  }

  // Text that is not JSON, or has numbers of more digits than scripts can represent, stays as it is.
  function formatted(text, indent) {
    if (/\d{16}|\d\.\d{15}/.test(text)) return text;
    try {
      return JSON.stringify(JSON.parse(text), null, indent);
    } catch {
      return text;
    }
  }

  for (const text of document.querySelectorAll(".scripted")) text.hidden = false;
  for (const place of document.querySelectorAll("details[data-call]")) {
    place.hidden = false;
    place.addEventListener("toggle", () => new Form(place, JSON.parse(place.dataset.call)), { once: true });
  }
})();
