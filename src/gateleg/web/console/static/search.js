// What the search field finds while somebody types: a list below it, for the mouse and for the keyboard.
(() => {
  const PAUSE = 150;
  let timer = 0;
  let asked = null;
  let active = -1;

  const field = () => document.getElementById("search");
  const list = () => {
    const known = document.getElementById("search-places");
    if (known) return known;
    const made = Object.assign(document.createElement("ul"), { id: "search-places", className: "places", hidden: true });
    made.setAttribute("role", "listbox");
    made.setAttribute("aria-label", "Search results");
    // The field keeps the focus, or the list would be closed before the click.
    made.addEventListener("mousedown", (event) => event.preventDefault());
    field().form.append(made);
    return made;
  };
  const options = () => [...list().querySelectorAll("[role=option]")];
  const say = (text) => (document.getElementById("said").textContent = text);

  const mark = (at) => {
    active = at;
    options().forEach((option, index) => option.setAttribute("aria-selected", String(index === at)));
    const chosen = options()[at];
    chosen?.scrollIntoView({ block: "nearest" });
    if (chosen) field().setAttribute("aria-activedescendant", chosen.id);
    else field().removeAttribute("aria-activedescendant");
  };
  const show = (open) => {
    list().hidden = !open;
    field().setAttribute("aria-expanded", String(open));
    if (!open) mark(-1);
  };
  const draw = (places) => {
    const part = (name, text, kind) => Object.assign(document.createElement(name), { textContent: text, className: kind });
    const drawn = places.map((place, at) => {
      const option = Object.assign(document.createElement("li"), { id: `search-place-${at}` });
      option.setAttribute("role", "option");
      const link = Object.assign(document.createElement("a"), { className: "menu-item", href: place.href, tabIndex: -1 });
      const icon = part("i", place.icon, "q-icon material-icons");
      icon.setAttribute("aria-hidden", "true");
      link.append(icon, part("span", place.title, "clip grow"), part("span", place.kind, "meta"));
      option.append(link);
      return option;
    });
    const nothing = Object.assign(part("li", "Nothing found", "menu-item meta"), { role: "presentation" });
    list().replaceChildren(...(drawn.length ? drawn : [nothing]));
    show(true);
    mark(-1);
    say(drawn.length === 1 ? "1 result" : `${drawn.length || "No"} results`);
  };
  const ask = async (text) => {
    asked?.abort();
    if (!text) return show(false);
    asked = new AbortController();
    const { signal } = asked;
    try {
      const answer = await fetch(`/search/places?q=${encodeURIComponent(text)}`, { signal });
      // A later question, or another place for the focus, makes this answer useless.
      if (answer.ok && document.activeElement === field()) {
        const places = await answer.json();
        if (!signal.aborted) draw(places);
      }
    } catch (error) {
      if (error.name !== "AbortError") show(false);
    }
  };
  const later = () => {
    clearTimeout(timer);
    timer = setTimeout(() => ask(field().value.trim()), PAUSE);
  };

  document.addEventListener("input", (event) => event.target === field() && later());
  document.addEventListener("focusin", (event) => event.target === field() && field().value.trim() && later());
  document.addEventListener("focusout", (event) => {
    if (event.target !== field()) return;
    clearTimeout(timer);
    asked?.abort();
    show(false);
  });
  document.addEventListener("keydown", (event) => {
    if (event.target !== field() || list().hidden) return;
    const count = options().length;
    if (event.key === "ArrowDown" && count) mark((active + 1) % count);
    else if (event.key === "ArrowUp" && count) mark(active <= 0 ? count - 1 : active - 1);
    else if (event.key === "Enter" && active >= 0) location.href = options()[active].querySelector("a").href;
    else if (event.key === "Escape") show(false);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }, true);
})();
