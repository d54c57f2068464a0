// Events of a page while its socket is disconnected, kept, and then sent to the host in order.
//
// NiceGUI lets every event ask on its own, each 10 ms, whether the handshake was answered. Of two that wait the later one often goes first:
// a click on "Save" overtakes what was typed. Here events need not ask; the socket takes them at once and keeps them until the answer.
(() => {
  const kept = [];
  let socket;
  let answered = false;
  Object.defineProperty(window, "socket", {
    get: () => socket,
    set(opened) {
      socket = opened;
      const emit = opened.emit.bind(opened);
      opened.emit = (name, ...said) => {
        if (answered || name !== "event") return emit(name, ...said);
        kept.push(said);
        setTimeout(() => kept.includes(said) && (document.getElementById("popup").ariaHidden = false), 1000);
        return opened;
      };
      opened.on("disconnect", () => (answered = false));
    },
  });
  Object.defineProperty(window, "did_handshake", {
    get: () => socket !== undefined,
    set(done) {
      answered = done;
      if (answered) for (const said of kept.splice(0)) socket.emit("event", ...said);
    },
  });
})();
