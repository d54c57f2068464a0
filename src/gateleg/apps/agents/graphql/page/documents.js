// Texts of GraphQL: types as they are written, operations of a document, and an operation that asks one field for everything it has.

export function written(type) {
  if (type.kind === "NON_NULL") return `${written(type.ofType)}!`;
  if (type.kind === "LIST") return `[${written(type.ofType)}]`;
  return type.name;
}

export function named(type) {
  return type.ofType ? named(type.ofType) : type;
}

// The names and kinds of the operations of a document; strings and comments are passed over.
export function operationsOf(text) {
  const bare = text.replace(/"""[\s\S]*?"""|"(?:\\.|[^"\\\n])*"|#[^\n]*/g, (found) => " ".repeat(found.length));
  const found = [];
  let depth = 0;
  for (const part of bare.matchAll(/[{}]|\b(query|mutation|subscription)\b\s*(\w*)/g)) {
    if (part[0] === "{") depth += 1;
    else if (part[0] === "}") depth -= 1;
    else if (depth === 0) found.push({ kind: part[1], name: part[2] });
  }
  return found;
}

// What is selected of a type: its values, and those of objects up to a depth. A type inside of itself is left out.
function selection(types, type, indent, depth, seen) {
  const lines = [];
  for (const field of types.get(type.name)?.fields ?? []) {
    const inner = named(field.type);
    if (field.args.some((argument) => argument.type.kind === "NON_NULL")) continue;
    if (inner.kind !== "OBJECT") lines.push(`${indent}${field.name}`);
    else if (depth > 0 && !seen.includes(inner.name)) {
      const below = selection(types, inner, `${indent}  `, depth - 1, [...seen, inner.name]);
      if (below.length) lines.push(`${indent}${field.name} {`, ...below, `${indent}}`);
    }
  }
  return lines;
}

// An operation for one field, with all its arguments as variables; optional ones are left out of the variables.
export function operationFor(kind, field, types) {
  const inner = named(field.type);
  const declared = field.args.map((one) => `$${one.name}: ${written(one.type)}`).join(", ");
  const passed = field.args.map((one) => `${one.name}: $${one.name}`).join(", ");
  const chosen = inner.kind === "OBJECT" ? selection(types, inner, "    ", 1, [inner.name]) : [];
  const body = chosen.length ? [` {`, ...chosen, "  }"].join("\n") : "";
  const query = `${kind} ${field.name}${declared && `(${declared})`} {\n  ${field.name}${passed && `(${passed})`}${body}\n}\n`;
  const needed = field.args.filter((one) => one.type.kind === "NON_NULL").map((one) => [one.name, null]);
  return { query, variables: needed.length ? JSON.stringify(Object.fromEntries(needed), null, 2) : "" };
}
