// A browser starts no worker for a page that was opened as a file. Material's search asks for one, so there it gets a frame
// that runs the same script and passes messages to and fro.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inside = frame.contentWindow;
      this.inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.dispatchEvent(event);
        this.onmessage?.(event);
      };
      this.waiting = [];
      const script = frame.contentDocument.createElement("script");
      script.src = new URL(url, document.baseURI).href;
      script.onload = () => {
        const sent = this.waiting;
        this.waiting = undefined;
        for (const data of sent) this.deliver(data);
      };
      frame.contentDocument.body.append(script);
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data);
      else setTimeout(() => this.deliver(data));
    }

    deliver(data) {
      this.inside.dispatchEvent(new MessageEvent("message", { data }));
    }

    terminate() {}
  };
}
