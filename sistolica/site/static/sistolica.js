// Remembers the language a reader chose, and keeps their place when they switch: labels are the same in every language.
function keepPlaceWhenSwitching() {
  for (const link of document.querySelectorAll("a.language-switch")) {
    link.addEventListener("click", () => {
      try {
        localStorage.setItem("sistolica-language", link.dataset.language);
      } catch {
        // storage can be forbidden; the switch works without it
      }
      link.search = location.search;
      link.hash = location.hash;
    });
  }
}

// What scrolls sideways can be reached with the keyboard: code, outputs, and the formulas that MathJax sets.
function makeScrollersFocusable() {
  for (const box of document.querySelectorAll(".bd-article pre, .bd-article .cell_output, mjx-container[display=true]")) {
    const scrolls = box.scrollWidth > box.clientWidth;
    if (scrolls && !box.hasAttribute("tabindex")) box.tabIndex = 0;
  }
}

document.addEventListener("DOMContentLoaded", () => {
  keepPlaceWhenSwitching();
  makeScrollersFocusable();
  window.MathJax?.startup?.promise?.then(makeScrollersFocusable);
  window.addEventListener("resize", makeScrollersFocusable);
});
