// Asks what has changed: writes the counts, and takes a new page, or a part of it, when it's made of something else. A
// form goes the same way, so that a wall that doesn't answer loses nothing. What somebody has begun to fill in waits for
// the next question. A new step's buttons wait for a second: a second click, or a key that is held, isn't meant for them.
const body = document.body, page = body.className, gone = document.getElementById("gone"), PAUSE_MS = 1000;
let touched = false, unsent, sending = Promise.resolve(), ready = 0;
async function read(asked) {
  const answer = await asked, now = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (answer.status >= 500) throw { said: now.querySelector("h1")?.textContent };  // a full disk: it's sent again
  return now;
}
async function take(asked, pressed) {
  const now = await read(asked), before = body.dataset;
  if (!now.body.dataset.state) return location.replace(location.pathname);  // the lesson has ended
  if (touched && now.body.dataset.question === before.question) return;  // somebody began while it was on its way
  if (pressed || now.body.dataset.step !== before.step) ready = performance.now() + PAUSE_MS;
  document.querySelector("main").replaceWith(now.querySelector("main"));
  Object.assign(before, now.body.dataset);
  touched = false;
  wait();
}
function wait() {
  const left = ready - performance.now();
  for (const button of document.querySelectorAll(".teacher main button")) button.disabled = left > 0;
  if (left > 0) setTimeout(wait, left);
  else document.querySelector("[autofocus]")?.focus();
}
const send = () => sending = sending.catch(() => {}).then(async () => {  // one at a time, so nothing is sent twice
  const form = unsent, more = { headers: { Accept: "text/html" }, signal: AbortSignal.timeout(5000) };
  if (form) await take(fetch(location.pathname, { method: "POST", body: form, ...more }), true);
  if (unsent === form) unsent = undefined;
});
function trouble(error) {
  gone.textContent = `${error.said ?? "The wall doesn’t answer."} Still trying …`;
  gone.hidden = false;
}
async function renew(now) {
  for (const part of document.querySelectorAll("[data-part]"))
    if (part.dataset.part !== now.spread) {
      const newer = (await read(fetch(location.pathname))).querySelector("[data-part]");
      if (newer) part.replaceWith(newer);
    }
  for (const place of document.querySelectorAll("[data-live]"))
    if (place.textContent !== `${now[place.dataset.live]}`) place.textContent = now[place.dataset.live];
}
async function look() {
  try {
    const answer = await fetch(body.dataset.state, { signal: AbortSignal.timeout(5000) });
    const now = answer.ok ? await answer.json() : answer.status === 404 ? {} : undefined;
    if (unsent && answer.ok) await send();
    if (now && now[page] !== body.dataset.madeOf && !(touched && now.question === body.dataset.question))
      await take(fetch(location.pathname));
    if (answer.ok) await renew(now);
    if (answer.status >= 500) throw {};
    gone.hidden = true;
  } catch (error) { trouble(error); }
  setTimeout(look, page === "phone" ? 2000 : 1000);
}
addEventListener("input", () => { touched = true; });
addEventListener("keydown", (event) => { if (event.repeat && event.key === "Enter") event.preventDefault(); });
addEventListener("submit", (event) => {
  event.preventDefault();
  unsent = new URLSearchParams(new FormData(event.target, event.submitter));
  touched = false;
  send().catch(trouble);
});
setTimeout(look, 1000);
