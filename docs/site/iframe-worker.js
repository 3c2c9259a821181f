// The site is read from the disk as well as from a server, and browsers give pages from the disk no workers. The search
// wants one, so there it gets a hidden frame that behaves like a worker.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = new Promise((done) => {
        const script = inside.document.createElement("script");
        script.src = url;
        script.onload = () => done(inside);
        inside.document.head.append(script);
      });
    }

    postMessage(data) {
      this.loaded.then((inside) => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
    }
  };
}
