// The texts of pages: in English, unless the page has brought them in its own language. `$1`, `$2` stand for what differs.
let known = {};
export const speak = (texts) => { known = texts; };

export const t = (text, ...values) => (known[text] ?? text).replace(/\$(\d)/g, (_, place) => values[place - 1]);

export const language = () => (Object.keys(known).length && document.documentElement.lang) || "en";

export const figure = (number) => number.toLocaleString(language());
