// Translates the texts of scripts: in English unless the page contains translations. `$1`, `$2` are placeholders.
let known = {};
export const speak = (texts) => { known = texts; };

export const t = (text, ...values) => (known[text] ?? text).replace(/\$(\d)/g, (_, place) => values[place - 1]);

export const language = () => (Object.keys(known).length && document.documentElement.lang) || "en";

export const figure = (number) => number.toLocaleString(language());
