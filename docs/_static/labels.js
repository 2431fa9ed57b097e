// Names for screen readers, and a place for the keyboard, where the themes give none.
window.addEventListener("load", async () => {
  for (const button of document.querySelectorAll(".search-button-field")) {
    // what it shows, "Search Ctrl+K", is its name; on a phone it shows no text
    button.setAttribute("aria-label", button.textContent.replace(/\s+/g, " ").trim());
  }
  for (const toggle of document.querySelectorAll("summary:has(> .toctree-toggle)")) {
    toggle.setAttribute("aria-label", "Pages below");
  }
  for (const link of document.querySelectorAll(".sphx-glr-thumbcontainer a")) {
    link.setAttribute("aria-label", link.textContent.trim());
  }
  await window.MathJax?.startup?.promise;
  for (const wide of document.querySelectorAll("mjx-container[display], table.table")) {
    if (wide.scrollWidth > wide.clientWidth) wide.tabIndex = 0; // it scrolls
  }
});
