// A browser starts no web worker from a file, so that the search of a site on disk would not answer. Here the worker's
// script runs in a hidden frame instead, with the same messages. The search looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(script) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      this.inside = frame.contentWindow
      this.inside.document.open() // or Firefox would replace the document later
      this.inside.document.write("<!doctype html><head></head>")
      this.inside.document.close()
      this.inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }))
      this.inside.importScripts = async (...scripts) => {
        for (const each of scripts) await this.load(each)
      }
      this.ready = this.load(new URL(script, document.baseURI).href)
    }

    load(script) {
      return new Promise((resolve, reject) => {
        const element = this.inside.document.createElement("script")
        element.src = script
        element.onload = resolve
        element.onerror = reject
        this.inside.document.head.append(element)
      })
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }

    terminate() {
      this.inside.frameElement.remove()
    }
  }
  window.Worker = window.IFrameWorker
}
