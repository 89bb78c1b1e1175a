/* Search when the pages are opened as files: browsers allow no worker there, so its script runs in a hidden frame. */
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const base = new URL(url, document.baseURI);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      this.inner = frame.contentWindow;
      this.waiting = [];
      const inside = this.inner;
      inside.document.open();
      inside.document.write("<!DOCTYPE html><html><body></body></html>");
      inside.document.close();
      inside.postMessage = data => this.#tell(data);
      inside.importScripts = (...urls) => urls.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
      const load = one => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        script.src = new URL(one, base);
        script.onload = done;
        script.onerror = failed;
        inside.document.body.appendChild(script);
      });
      load(base).then(() => {
        const early = this.waiting;
        this.waiting = null;
        early.forEach(data => this.#ask(data));
      });
    }
    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else this.#ask(data);
    }
    #ask(data) {
      this.inner.dispatchEvent(new MessageEvent("message", {data}));
    }
    #tell(data) {
      const event = new MessageEvent("message", {data});
      this.dispatchEvent(event);
      if (this.onmessage) this.onmessage(event);
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
  window.IFrameWorker = window.Worker; // by this name the theme's script knows that it runs in a frame
}
