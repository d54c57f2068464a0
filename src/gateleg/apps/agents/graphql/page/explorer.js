// The schema as a list that can be searched: queries, mutations and subscriptions, then types.

import { operationFor, written } from "/graphql/documents.js";

export const INTROSPECTION = `query Schema { __schema {
  queryType { name } mutationType { name } subscriptionType { name }
  types { kind name description
    fields { name description deprecationReason args { name description type { ...T } } type { ...T } }
    inputFields { name description type { ...T } } enumValues { name description } } } }
fragment T on __Type { kind name ofType { kind name ofType { kind name ofType { kind name } } } }`;

function element(tag, className, text) {
  const made = document.createElement(tag);
  if (className) made.className = className;
  if (text) made.textContent = text;
  return made;
}

function entry(title, about, members, use) {
  const details = element("details");
  details.append(element("summary", "", title));
  if (about) details.append(element("p", "about", about));
  for (const member of members) details.append(element("div", "member", member));
  if (use) {
    const button = element("button", "second", "Insert");
    button.type = "button";
    button.addEventListener("click", use);
    details.append(button);
  }
  return details;
}

function members(type) {
  const fields = [...(type.fields ?? []), ...(type.inputFields ?? [])].map((field) => `${field.name}: ${written(field.type)}`);
  return [...fields, ...(type.enumValues ?? []).map((value) => value.name)];
}

export function showSchema(schema, place, word, insert) {
  const types = new Map(schema.types.map((type) => [type.name, type]));
  const roots = [["query", schema.queryType], ["mutation", schema.mutationType], ["subscription", schema.subscriptionType]];
  const fits = (name) => name.toLowerCase().includes(word.toLowerCase());
  const parts = [];
  for (const [kind, root] of roots.filter(([, root]) => root)) {
    const found = types.get(root.name).fields.filter((field) => fits(field.name));
    if (found.length) parts.push(element("h2", "", `${kind} (${found.length})`));
    for (const field of found) {
      const about = [field.description, field.deprecationReason && `Deprecated: ${field.deprecationReason}`].filter(Boolean).join(" ");
      const given = field.args.map((argument) => `${argument.name}: ${written(argument.type)}`);
      parts.push(entry(`${field.name}: ${written(field.type)}`, about, given, () => insert(operationFor(kind, field, types))));
    }
  }
  const skipped = new Set(roots.map(([, root]) => root?.name));
  const others = schema.types.filter((type) => !type.name.startsWith("__") && !skipped.has(type.name) && fits(type.name));
  if (others.length) parts.push(element("h2", "", `types (${others.length})`));
  for (const type of others) parts.push(entry(type.name, type.description, members(type)));
  place.replaceChildren(...parts);
}
