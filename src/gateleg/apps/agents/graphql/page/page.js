// The page for trying queries: two editors, the answer, and the schema beside them.

import { operationsOf } from "/graphql/documents.js";
import { INTROSPECTION, showSchema } from "/graphql/explorer.js";

const at = (id) => document.getElementById(id);
const ADDRESS = "/graphql";
const EXAMPLE = "# Ctrl+Enter runs this. The schema is on the left.\n{\n  agentList(limit: 10) {\n    total\n    nextCursor\n    agentList {\n      agentName\n      status\n      llm { llmProvider llmName }\n    }\n  }\n}\n";
let token = null;
let schema = null;
let running = null;

const kept = (name, otherwise) => { try { return JSON.parse(localStorage.getItem(`graphql.${name}`)) ?? otherwise; } catch { return otherwise; } };
const keep = (name, value) => { try { localStorage.setItem(`graphql.${name}`, JSON.stringify(value)); } catch { /* a private window keeps nothing */ } };

function say(text, bad = false) {
  at("state").textContent = text;
  at("state").classList.toggle("bad", bad);
}

async function csrf() {
  token ??= (await (await fetch("/api/session")).json()).csrf_token ?? "";
  return token;
}

async function post(body) {
  const headers = { "content-type": "application/json", accept: "application/json", "x-csrf-token": await csrf() };
  if (at("part").value.trim()) headers["X-Part-ID"] = at("part").value.trim();
  const answer = await fetch(ADDRESS, { method: "POST", headers, body: JSON.stringify(body), signal: running?.signal });
  return answer.json();
}

function show(value) {
  at("answer").textContent = JSON.stringify(value, null, 2);
}

// A subscription over a websocket, by the protocol graphql-transport-ws; every event is added to the answer.
function follow(body, stop) {
  return new Promise((resolve, reject) => {
    const events = [];
    const socket = new WebSocket(location.origin.replace(/^http/, "ws") + ADDRESS, "graphql-transport-ws");
    const part = at("part").value.trim();
    stop.addEventListener("abort", () => socket.close(1000));
    socket.onopen = () => socket.send(JSON.stringify({ type: "connection_init", payload: part ? { "X-Part-ID": part } : {} }));
    socket.onclose = (event) => (event.code === 1000 ? resolve() : reject(new Error(`The connection was closed: ${event.reason || event.code}`)));
    socket.onmessage = (event) => {
      const message = JSON.parse(event.data);
      if (message.type === "connection_ack") socket.send(JSON.stringify({ id: "1", type: "subscribe", payload: body }));
      else if (message.type === "ping") socket.send(JSON.stringify({ type: "pong" }));
      else if (message.type === "next" || message.type === "error") {
        events.push(message.payload);
        show(events.slice(-500));
      }
      if (message.type === "complete" || message.type === "error") socket.close(1000);
    };
  });
}

function operations() {
  const found = operationsOf(at("query").value);
  const chosen = at("operation").value;
  at("operation").replaceChildren(...found.map(({ kind, name }) => new Option(name || kind, name)));
  if (found.some(({ name }) => name === chosen)) at("operation").value = chosen;
  at("operation").parentElement.hidden = found.length < 2;
  return found;
}

function remember(query, variables) {
  const history = [{ query, variables }, ...kept("history", []).filter((one) => one.query !== query)].slice(0, 30);
  keep("history", history);
  listHistory();
}

function listHistory() {
  const options = kept("history", []).map((one, index) => new Option(one.query.replace(/\s+/g, " ").slice(0, 60), index));
  at("history").replaceChildren(new Option("Earlier queries", ""), ...options);
}

async function run() {
  const query = at("query").value;
  let variables = {};
  try {
    variables = at("variables").value.trim() ? JSON.parse(at("variables").value) : {};
  } catch (error) {
    say(`The variables are not JSON: ${error.message}`, true);
    return;
  }
  running?.abort();
  running = new AbortController();
  const own = running;
  const found = operations();
  const operationName = found.length > 1 ? at("operation").value : undefined;
  const kind = (found.find(({ name }) => name === operationName) ?? found[0])?.kind;
  at("stop").hidden = false;
  say("Running");
  const begun = performance.now();
  try {
    if (kind === "subscription") await follow({ query, variables, operationName }, own.signal);
    else {
      const answer = await post({ query, variables, operationName });
      show(answer);
      say(`${Math.round(performance.now() - begun)} ms${answer.errors ? `, ${answer.errors.length} error(s)` : ""}`, Boolean(answer.errors));
    }
    if (kind === "subscription") say("Ended");
    remember(query, at("variables").value);
  } catch (error) {
    say(own.signal.aborted ? "Stopped" : error.message, !own.signal.aborted);
  } finally {
    if (own === running) at("stop").hidden = true;
  }
}

function insert({ query, variables }) {
  at("query").value = query;
  at("variables").value = variables;
  operations();
  at("query").focus();
}

function explore() {
  if (schema) showSchema(schema, at("explorer"), at("search").value.trim(), insert);
}

async function begin() {
  const last = kept("last", { query: EXAMPLE, variables: "", part: "" });
  insert(last);
  at("part").value = last.part ?? "";
  listHistory();
  const answer = await post({ query: INTROSPECTION });
  if (answer.errors) say(answer.errors[0].message, true);
  schema = answer.data?.__schema;
  explore();
}

at("run").addEventListener("click", run);
at("stop").addEventListener("click", () => running?.abort());
at("search").addEventListener("input", explore);
at("history").addEventListener("change", (event) => event.target.value && insert(kept("history", [])[event.target.value]));
for (const id of ["query", "variables", "part"]) {
  at(id).addEventListener("input", () => keep("last", { query: at("query").value, variables: at("variables").value, part: at("part").value }));
}
at("query").addEventListener("change", operations);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
    event.preventDefault();
    run();
  }
});
at("query").addEventListener("keydown", (event) => {
  // Tab indents while something is typed; Escape and then Tab leaves the editor.
  if (event.key === "Escape") event.target.dataset.leaving = "yes";
  else if (event.key === "Tab" && !event.shiftKey && !event.target.dataset.leaving) {
    event.preventDefault();
    event.target.setRangeText("  ", event.target.selectionStart, event.target.selectionEnd, "end");
  } else delete event.target.dataset.leaving;
});
begin().catch((error) => say(error.message, true));
