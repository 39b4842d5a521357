// Choosing a file below the folders that the server was started with.
import { ask, fill, make } from "/static/page.js";

// Resolves to a path, or to null; `files` says which files of a folder are offered.
export function choosePlace(dialog, title, files, folders = false) {
  return new Promise((resolve) => {
    const list = make("ul.places"), where = make("p.small"), use = make("button", { type: "button", hidden: true }, "Use this folder");
    const take = (path) => { resolve(path); dialog.close(); };
    async function show(path) {
      try {
        const found = await ask("/added/below", { path });
        const up = path.includes("/") ? path.slice(0, path.lastIndexOf("/")) : "";
        where.textContent = path || "Folders that the server was started with";
        use.hidden = !folders || !path.includes("/");
        use.onclick = () => take(path);
        const row = (text, go) => make("li", {}, make("button", { type: "button", onclick: go }, text));
        fill(list, path ? row("‹ back", () => show(up)) : null, found.folders.map((one) => row(`${one.split("/").at(-1)} /`, () => show(one))), files(found).map((one) => row(one.split("/").at(-1), () => take(one))));
        if (!list.children.length || (list.children.length === 1 && path)) list.append(make("li.empty", {}, "Nothing of use lies here."));
        list.querySelector("button")?.focus();
      } catch (error) {
        where.textContent = error.message;
      }
    }
    dialog.replaceChildren(make("h2", { id: "asking-title" }, title), where, list, make("div.actions", {}, use, make("button.quiet", { type: "button", onclick: () => dialog.close() }, "Cancel")));
    dialog.addEventListener("close", () => resolve(null), { once: true });
    dialog.showModal();
    show("");
  });
}
