"use strict";
// Without this script every page works; with it long work shows that it goes on, and the strength follows the slider.
for (const form of document.forms) {
  form.addEventListener("submit", () => {
    form.querySelector(".waits").textContent = form.querySelector("button.go")?.dataset.waits ?? "Working ...";
    setTimeout(() => { for (const each of form.querySelectorAll("button")) each.disabled = true; }, 0);
  });
}
for (const each of document.querySelectorAll("input[type=file]")) {
  const large = "At most 1 GiB: put the file into the folder of the shell, and choose it there.";
  each.addEventListener("change", () => each.setCustomValidity(each.files[0]?.size > 2 ** 30 ? large : ""));
}
window.addEventListener("pageshow", () => {
  for (const each of document.querySelectorAll("button")) each.disabled = false;
  for (const each of document.querySelectorAll(".waits")) each.textContent = "";
});
const alerted = document.getElementById("alert");
if (alerted) alerted.focus();
for (const link of document.querySelectorAll("a[data-waits]")) {
  link.addEventListener("click", () => { link.parentElement.querySelector(".waits").textContent = link.dataset.waits; });
}
for (const part of document.querySelectorAll("[data-if]")) {
  const by = document.getElementById(part.dataset.if), fit = () => { part.hidden = !new RegExp(part.dataset.in).test(by.value); };
  by.addEventListener("change", fit);
  addEventListener("pageshow", fit);
}
const slider = document.querySelector("input[data-live]");
if (slider) {
  const field = (name) => document.getElementById(name), epsilon = field("epsilon"), delta = field("delta");
  let waiting = 0, busy = false, again = [];
  for (const part of document.querySelectorAll("[data-plain]")) part.hidden = true;
  const name = () => slider.setAttribute("aria-valuetext", "epsilon " + epsilon.value);
  const show = (made, parts) => {
    for (const each of [epsilon, delta]) {
      const id = each.id + "-refusal", wrong = made.getElementById(id);
      field(id)?.remove();
      each.removeAttribute("aria-invalid");
      if (wrong) { each.after(wrong); each.setAttribute("aria-invalid", "true"); each.setAttribute("aria-errormessage", id); }
    }
    for (const part of new Set(parts)) field(part).replaceChildren(...made.getElementById(part).childNodes);
  };
  // one request at a time: what is moved meanwhile is asked for when the answer is there
  const ask = async (...parts) => {
    if (busy) { again.push(...parts); return; }
    busy = true;
    const long = setTimeout(() => { field("said").textContent = "Working it out ..."; }, 500);
    try {
      const made = document.createElement("template"), sent = new URLSearchParams(new FormData(slider.form));
      made.innerHTML = await (await fetch(slider.dataset.live + "?" + sent)).text();
      show(made.content, parts);
    } catch { field("said").textContent = "No answer: does bnpriv serve still run in the shell?"; }
    clearTimeout(long);
    busy = false;
    if (again.length) ask(...again.splice(0));
  };
  const soon = () => { clearTimeout(waiting); waiting = setTimeout(ask, 150, "said", "live"); };
  slider.addEventListener("input", () => { epsilon.value = Number((10 ** slider.value).toPrecision(2)); name(); soon(); });
  for (const each of [epsilon, delta]) each.addEventListener("input", () => { slider.value = Math.log10(epsilon.value); name(); soon(); });
  field("live").addEventListener("change", () => ask("said"));  // a new list would take the focus away
  name();
}
