// Browsers refuse to start a worker from a file. In a site that is opened from a folder, the search therefore runs in a frame, behind the
// same interface: postMessage and "message" events.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.scope = frame.contentWindow;
      this.scope.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = this.scope.document.createElement("script");
      this.ready = new Promise((resolve, reject) => Object.assign(script, { src: url, onload: resolve, onerror: reject }));
      this.scope.document.head.append(script);
    }

    postMessage(data) {
      this.ready.then(() => this.scope.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
