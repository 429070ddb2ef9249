"use strict";
// A click on a heading sorts its table by that column; another click the other way round.
for (const table of document.querySelectorAll("table")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, at) => {
    const button = head.querySelector("button");
    if (!button) return;
    button.addEventListener("click", () => {
      const rising = head.getAttribute("aria-sort") !== "ascending" && !head.classList.contains("right") || head.getAttribute("aria-sort") === "descending";
      const body = table.tBodies[0];
      const numbers = head.classList.contains("right");
      const rows = [...body.rows].map((row) => ({ row, key: row.cells[at].dataset.key || "" }));
      rows.sort((a, b) => (numbers ? parseFloat(a.key) - parseFloat(b.key) : a.key.localeCompare(b.key)) * (rising ? 1 : -1));
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", rising ? "ascending" : "descending");
      body.append(...rows.map((one) => one.row));
    });
  });
}
