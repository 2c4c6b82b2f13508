// What can be pressed has a name, and the name that is seen: the theme gives some none, and one another.
document.addEventListener("DOMContentLoaded", () => {
  for (const part of document.querySelectorAll("summary:has(> .toctree-toggle)")) part.ariaLabel = "Pages below this one";
  for (const part of document.querySelectorAll(".search-button-field")) {
    if (part.innerText.includes("Search")) part.removeAttribute("aria-label");
  }
});
