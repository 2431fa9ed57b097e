// Names for screen readers, and a place for the keyboard, where the themes give none.
window.addEventListener("load", async () => {
  for (const button of document.querySelectorAll(".search-button-field")) {
    button.removeAttribute("aria-label"); // it shows "Search Ctrl+K", which is its name
  }
  for (const toggle of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    toggle.setAttribute("aria-label", "Pages below");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  await window.MathJax?.startup?.promise;
  for (const formula of document.querySelectorAll("mjx-container[display]")) {
    formula.tabIndex = 0; // a wide formula scrolls
  }
});
