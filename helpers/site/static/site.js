// Every code cell folds; one button folds all of them, and the choice is remembered.
document.addEventListener("DOMContentLoaded", () => {
  const inputs = [...document.querySelectorAll(".cell_input")];
  const title = document.querySelector("article h1");
  if (!inputs.length || !title) return;

  const memory = {
    get: () => { try { return localStorage.getItem("code"); } catch { return null; } },
    set: (value) => { try { localStorage.setItem("code", value); } catch { } },
  };
  const folds = inputs.map((input) => {
    const fold = document.createElement("details");
    const summary = document.createElement("summary");
    summary.textContent = "Code";
    fold.className = "code-fold";
    input.replaceWith(fold);
    fold.append(summary, input);
    return fold;
  });
  const button = document.createElement("button");
  button.type = "button";
  button.className = "fold-all";
  const show = (open) => {
    folds.forEach((fold) => { fold.open = open; });
    button.textContent = open ? "Fold all code" : "Show all code";
    button.setAttribute("aria-pressed", String(!open));
  };
  button.addEventListener("click", () => {
    const open = !folds.some((fold) => fold.open);
    show(open);
    memory.set(open ? "open" : "folded");
  });
  title.after(button);
  show(memory.get() !== "folded");
});
