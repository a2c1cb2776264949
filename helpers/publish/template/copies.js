// Opens the call that a link leads to, and hides the calls in which a word that was typed is missing. The page reads as
// well without it.
"use strict";
(() => {
  const open = () => {
    const target = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (target?.matches("details")) target.open = true;
    target?.scrollIntoView();
  };
  addEventListener("hashchange", open);
  const calls = [...document.querySelectorAll(".call")].map(call =>
    ({call, text: [call.textContent, call.dataset.tasks, call.parentElement.querySelector("h2").textContent].join(" ").toLowerCase()}));
  const form = document.getElementById("filter"), box = document.getElementById("seen");
  form.hidden = false;
  const show = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const {call, text} of calls) {
      call.hidden = !words.every(word => text.includes(word));
      count += !call.hidden;
    }
    for (const section of document.querySelectorAll("section"))
      section.hidden = words.length > 0 && !section.querySelector(".call:not([hidden])");
    document.getElementById("found").textContent = words.length ? `${count} of ${calls.length} calls` : "";
  };
  box.addEventListener("input", show);
  form.addEventListener("submit", event => event.preventDefault());
  show();
  open();
})();
