// Excerpts of search results. Sphinx takes the page's header for the start of its text, and misses a word whose accents
// the query lacks; here the excerpt comes from the article, around the first word that was sought.
(() => {
  if (typeof Search === "undefined") return; // only the search page searches
  const CONTEXT = 120; // characters before the word, and as many after
  const fold = (text) => text.toLowerCase().normalize("NFD").replace(/\p{Mn}/gu, "");

  Search.htmlToText = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article.bd-article");
    if (!article) return "";
    for (const part of article.querySelectorAll(".headerlink, script, style")) part.remove();
    const place = (anchor && article.querySelector(anchor)) || article;
    return place.textContent.replace(/\s+/g, " ").trim().normalize("NFC");
  };

  Search.makeSearchSummary = (html, words, anchor) => {
    const text = Search.htmlToText(html, anchor);
    const folded = fold(text);
    const found = [...words].map((word) => folded.indexOf(fold(word))).filter((position) => position >= 0);
    const start = Math.max((found.length ? Math.min(...found) : 0) - CONTEXT, 0);
    const end = start + 2 * CONTEXT;
    const excerpt = document.createElement("p");
    excerpt.className = "context";
    const whole = text.slice(start, end).replace(start ? /^\S*\s/ : "", "").replace(end < text.length ? /\s\S*$/ : "", "");
    excerpt.textContent = (start ? "…" : "") + whole + (end < text.length ? "…" : "");
    return excerpt;
  };
})();
