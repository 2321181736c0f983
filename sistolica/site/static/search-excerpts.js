// Excerpts of search results. Sphinx takes the page's header for the start of its text, and misses a word in another form
// than the query's; here the excerpt comes from the article, around the first word with a stem that was sought.
(() => {
  if (typeof Search === "undefined") return; // only the search page searches
  const CONTEXT = 120; // characters before the word, and as many after

  const firstSought = (text, stems) => {
    const stemmer = new Stemmer();
    for (const word of text.matchAll(/[\p{Letter}\p{Number}_]+/gu)) {
      if (stems.has(stemmer.stemWord(word[0]))) return word.index;
    }
    return 0; // found by a part of a word: the start of the page will do
  };

  Search.htmlToText = (html, anchor) => {
    const article = new DOMParser().parseFromString(html, "text/html").querySelector("article.bd-article");
    if (!article) return "";
    for (const part of article.querySelectorAll(".headerlink, script, style")) part.remove();
    const place = (anchor && article.querySelector(anchor)) || article;
    return place.textContent.replace(/\s+/g, " ").trim();
  };

  Search.makeSearchSummary = (html, stems, anchor) => {
    const text = Search.htmlToText(html, anchor);
    const start = Math.max(firstSought(text, stems) - CONTEXT, 0);
    const end = start + 2 * CONTEXT;
    let excerpt = text.slice(start, end);
    if (start > 0) excerpt = excerpt.replace(/^\S*\s/, "…");
    if (end < text.length) excerpt = excerpt.replace(/\s\S*$/, "…");
    const paragraph = document.createElement("p");
    paragraph.className = "context";
    paragraph.textContent = excerpt;
    return paragraph;
  };
})();
