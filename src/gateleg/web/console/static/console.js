// Keyboard, relative times, copying and the theme: what needs no answer from the server.
(() => {
  let unsaved = false;
  const typing = (el) => el && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));
  const places = { h: "/", j: "/jobs", t: "/tables", m: "/migrations", o: "/objects", s: "/settings" };
  let waiting = false;
  let here = location.pathname + location.search;

  const rows = () => [...document.querySelectorAll("[data-row]")].filter((row) => row.offsetParent !== null);
  const current = () => document.querySelector("[data-row].at");
  const move = (step) => {
    const all = rows();
    if (!all.length) return;
    const from = all.indexOf(current());
    const next = all[Math.max(0, Math.min(all.length - 1, from < 0 ? 0 : from + step))];
    current()?.classList.remove("at");
    next.classList.add("at");
    next.scrollIntoView({ block: "nearest" });
    const link = next.querySelector("a");
    (link || next).focus({ preventScroll: true });
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const target = event.target;
    if (typing(target)) {
      if (event.key === "Escape") target.blur();
      return;
    }
    if (document.querySelector(".q-dialog, dialog[open]")) return;
    if (waiting) {
      waiting = false;
      if (places[event.key]) {
        event.preventDefault();
        location.href = places[event.key];
      }
      return;
    }
    const row = current();
    if (event.key === "/") {
      event.preventDefault();
      document.getElementById("search")?.focus();
    } else if (event.key === "g") {
      waiting = true;
      setTimeout(() => (waiting = false), 1200);
    } else if (event.key === "j") move(1);
    else if (event.key === "k") move(-1);
    else if (event.key === "Enter" && row && target === document.body) row.querySelector("a")?.click();
    else if (event.key === "x" && row) row.querySelector("input[type=checkbox]")?.click();
    else if (event.key === "?") document.getElementById("help")?.showModal();
  });

  const units = [["day", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const plural = (n, unit) => `${n} ${unit === "day" && n !== 1 ? "days" : unit}`;
  const span = (seconds) => {
    for (const [unit, size] of units) if (seconds >= size) return plural(Math.floor(seconds / size), unit);
    return "0 s";
  };
  const ago = (at, now) => {
    const seconds = (now - at) / 1000;
    if (Math.abs(seconds) < 2) return "now";
    if (Math.abs(seconds) > 30 * 86400) return new Date(at).toISOString().slice(0, 10);
    return seconds > 0 ? `${span(seconds)} ago` : `in ${span(-seconds)}`;
  };
  const precise = (seconds) => {
    const s = Math.max(0, Math.floor(seconds));
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${plural(Math.floor(s / 86400), "day")} ${Math.floor((s % 86400) / 3600)} h`;
  };
  window.gateleg = {
    // the time by the host's clock, so that a browser with a wrong clock shows right ages
    skew: 0,
    ago: (at) => ago(Date.parse(at), Date.now() + window.gateleg.skew),
    since: (at) => precise((Date.now() + window.gateleg.skew - Date.parse(at)) / 1000),
    exact: (at) => new Date(at).toLocaleString(undefined, { dateStyle: "full", timeStyle: "long" }),
    copy(text, element) {
      const done = () => {
        element?.classList.add("copied");
        setTimeout(() => element?.classList.remove("copied"), 1200);
        const said = document.getElementById("said");
        if (said) said.textContent = "Copied";
      };
      if (navigator.clipboard && window.isSecureContext) navigator.clipboard.writeText(text).then(done, () => {});
      else {
        const area = Object.assign(document.createElement("textarea"), { value: text });
        document.body.append(area);
        area.select();
        document.execCommand("copy");
        area.remove();
        done();
      }
    },
    flash(id) {
      const element = document.getElementById(id);
      if (!element) return;
      element.classList.remove("flash");
      void element.offsetWidth;
      element.classList.add("flash");
    },
    // what was typed is kept by the host by now
    leave(href) {
      unsaved = false;
      location.href = href;
    },
    place(href) {
      history.pushState({}, "", href);
      here = location.pathname + location.search;
    },
    keep(name, value) {
      document.cookie = `${name}=${value};path=/;max-age=31536000;samesite=lax`;
    },
    theme(value) {
      const root = document.documentElement;
      if (value === "auto") root.removeAttribute("data-theme");
      else root.dataset.theme = value;
      window.gateleg.keep("gateleg_theme", value);
      const dark = value === "dark" || (value === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
      window.Quasar?.Dark.set(dark);
      window.dispatchEvent(new CustomEvent("gateleg-theme", { detail: dark }));
    },
  };
  const tick = () => {
    for (const el of document.querySelectorAll("time[data-ago]")) {
      const text = window.gateleg.ago(el.dateTime);
      if (el.textContent !== text) el.textContent = text;
      if (!el.title) el.title = window.gateleg.exact(el.dateTime);
    }
    for (const el of document.querySelectorAll("time[data-since]")) {
      const text = window.gateleg.since(el.dateTime);
      if (el.textContent !== text) el.textContent = text;
      if (!el.title) el.title = window.gateleg.exact(el.dateTime);
    }
  };
  setInterval(tick, 1000);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (button) {
      event.preventDefault();
      event.stopPropagation();
      window.gateleg.copy(button.dataset.copy, button);
    }
    if (event.target.closest("a[data-free], button[data-free]")) unsaved = false;
    const help = document.getElementById("help");
    if (help?.open && event.target === help) help.close();
  }, true);
  document.addEventListener("input", (event) => {
    if (event.target.closest?.("[data-guards]") && !event.target.closest("[data-free]")) unsaved = true;
  });
  window.addEventListener("beforeunload", (event) => unsaved && event.preventDefault());
  document.addEventListener("change", (event) => event.target.matches?.("[data-submits]") && event.target.form.requestSubmit());
  document.addEventListener("submit", (event) => {
    // What is empty is not put into the address.
    if (event.target.matches("[data-tidy]")) for (const one of event.target.elements) if (one.name && !one.value) one.disabled = true;
  });
  // What the framework says of every lost connection, for those that are no more than that.
  const lost = ["Connection lost.", "Trying to reconnect..."];
  const reason = (what, next, link) => {
    const popup = document.getElementById("popup");
    popup.children[0].textContent = what;
    popup.children[1].textContent = next;
    if (!link) return;
    popup.ariaHidden = false;
    popup.children[1].append(" ", Object.assign(document.createElement("a"), link));
  };
  // Why a page is cut off, as far as its host says it. One that it has forgotten was away for long, or the host was started again.
  const explain = async (forgotten) => {
    if (forgotten) {
      reason("The host does not know this page any more.", "Copy what you have typed and not saved. Then", {
        textContent: "load the page again",
        href: location.href,
      });
      document.querySelector("#popup a").dataset.free = "";
      return;
    }
    const answer = await fetch("/api/session", { cache: "no-store" }).catch(() => null);
    if (answer?.status === 401) {
      const href = `/signin?next=${encodeURIComponent(location.pathname + location.search)}`;
      reason("You are signed out.", unsaved ? "What you typed is still here to be copied." : "", {
        textContent: "Sign in again",
        href,
        target: unsaved ? "_blank" : "",
      });
    } else if (answer?.status === 503) reason("The host cannot reach its store.", "The page goes on as soon as it can.");
    else if (!answer) reason(...lost);
  };
  // Tabs that were shown in place have addresses; going back to one asks the server for it.
  window.addEventListener("popstate", () => location.pathname + location.search !== here && location.reload());
  window.addEventListener("pageshow", (event) => event.persisted && location.reload());
  document.addEventListener("DOMContentLoaded", () => {
    const saved = document.documentElement.dataset.theme || "auto";
    const dark = saved === "dark" || (saved === "auto" && matchMedia("(prefers-color-scheme: dark)").matches);
    const settle = () => (window.Quasar ? window.Quasar.Dark.set(dark) : setTimeout(settle, 20));
    settle();
    const watch = () => {
      if (!window.socket) return setTimeout(watch, 100);
      // On a phone the tab that is shown may be beyond the edge.
      for (const tab of document.querySelectorAll(".tabs [aria-current=page]")) {
        const bar = tab.parentElement;
        bar.scrollLeft = tab.offsetLeft - bar.offsetLeft - (bar.clientWidth - tab.clientWidth) / 2;
      }
      const mark = (lost) => document.documentElement.classList.toggle("offline", lost);
      window.socket.on("disconnect", () => (mark(true), explain()));
      window.socket.on("connect_error", (error) => explain(error.message === "Implicit handshake failed"));
      window.socket.on("connect", () => (mark(false), reason(...lost)));
    };
    watch();
  });
})();
