// Search runs in a worker, and browsers start none for a page that was opened from the disk (file://).
// There, a hidden frame does the worker's work. Only what Material's search asks of a worker is here.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.ready = new Promise((done) => {
        const inside = this.inside;
        inside.postMessage = (data) => {
          const event = new MessageEvent("message", { data });
          this.dispatchEvent(event);
          this.onmessage?.(event);
        };
        const load = (source) =>
          new Promise((loaded, failed) => {
            const script = inside.document.createElement("script");
            script.src = source;
            script.onload = loaded;
            script.onerror = failed;
            inside.document.head.append(script);
          });
        // A worker loads one script after the other and waits; a frame can only do so later.
        inside.importScripts = (...sources) =>
          sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
        load(url).then(done);
      });
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
