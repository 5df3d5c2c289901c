// What passes between the page and the server: the token, requests to a run, events.

import { $, news, put, tell } from "./elements.js";
import { RUN, WORKERS, forget } from "./state.js";

const LOST_AFTER = 40000; // milliseconds; the server gives a sign of life every 15 s

// The token is taken from the address, kept for this tab and sent as a header.
function takeToken() {
  const address = new URL(location.href);
  const given = address.searchParams.get("token");
  if (given) {
    sessionStorage.setItem("token", given);
    address.searchParams.delete("token");
    window.history.replaceState(null, "", address);
  }
  return sessionStorage.getItem("token");
}
const token = takeToken();
const EVENTS = RUN ? `/runs/${encodeURIComponent(RUN)}/events` : WORKERS ? `/workers/events${location.search}` : "/events";
const headers = token ? { Authorization: `Bearer ${token}` } : {};

export async function ask(action, chunks) {
  let text, kind = "quiet";
  try {
    const response = await fetch(`/runs/${encodeURIComponent(RUN)}/${action}`, {
      method: "POST", headers: { ...headers, "Content-Type": "application/json" },
      body: JSON.stringify({ chunks }),
    });
    text = response.ok ? `The run was ${(await response.json()).done}; it follows within seconds.` : await response.text();
    if (!response.ok) kind = "bad";
  } catch {
    [text, kind] = ["The dashboard does not answer.", "bad"];
  }
  tell($("answer"), text, kind);
  news(text);
}

export function setLink(text, kind) {
  const node = $("link");
  node.className = `badge ${kind}`;
  put(node, text);
}
async function listen(take) {
  const control = new AbortController();
  let timer = 0;
  const heard = () => { clearTimeout(timer); timer = setTimeout(() => control.abort(), LOST_AFTER); };
  heard();
  try {
    const response = await fetch(EVENTS, { headers, signal: control.signal });
    if (response.status === 401) return false;
    if (!response.ok) throw new Error(await response.text());
    forget();
    setLink("live", "good");
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let rest = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return true;
      heard();
      const events = (rest + value).split("\n\n");
      rest = events.pop();
      for (const event of events) take(JSON.parse(event.slice("data: ".length)));
    }
  } finally {
    clearTimeout(timer);
  }
}
export async function follow(take) {
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      if (!await listen(take)) {
        setLink("closed", "bad");
        tell($("problem"), "The token is needed here. Open the address that `bpefleet dashboard` printed.", "bad");
        return;
      }
      pause = 1000;
    } catch { /* it is said in the next line, and tried again */ }
    setLink("lost, trying again", "bad");
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}
