// A form that purges, with the operator's token. The token stays in the field of this page: it is neither stored nor in any address.

const WHAT = {
  key: "key",
  prefix: "prefix",
  host: "prefix",
  tag: "tag",
  all: "all",
};

export class PurgeForm {
  constructor(form) {
    this.form = form;
    this.result = form.querySelector("output");
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#purge();
    });
    form.elements.what.addEventListener("change", () => this.#fit());
    this.#fit();
  }

  // Everything has no name.
  #fit() {
    const isAll = this.form.elements.what.value === "all";
    this.form.elements.name.disabled = isAll;
    this.form.elements.name.required = !isAll;
  }

  async #purge() {
    const { what, name, soft, token } = this.form.elements;
    const target = what.value === "all" ? "everything" : `${what.value} ${name.value}`;
    if (!confirm(`${soft.checked ? "Make stale" : "Purge"}: ${target}?`)) {
      return;
    }

    try {
      this.#tell(...await ask(queryOf(what.value, name.value, soft.checked), token.value));
    } catch (error) {
      this.#tell(`no answer: ${error.message}`, true);
    }
  }

  #tell(text, isWrong) {
    this.result.classList.toggle("wrong", isWrong);
    this.result.textContent = text;
  }
}

export function queryOf(what, name, isSoft) {
  const value = what === "host" && !name.endsWith("/") ? `${name}/` : name;
  return (what === "all" ? "all" : `${WHAT[what]}=${encodeURIComponent(value)}`) + (isSoft ? "&soft" : "");
}

// What the service says of a purge, in a line.
export function describe({ objects, diskObjects, fills }) {
  const disk = diskObjects === undefined ? "" : `, ${diskObjects} on the disk`;
  return `${objects} objects in memory${disk}, ${fills} fetches`;
}

// A line, and whether it tells of a failure.
async function ask(query, token) {
  const answer = await fetch(`purge?${query}`, { method: "POST", headers: { Authorization: `Bearer ${token}` } });
  const said = await answer.json();
  return said.purged === undefined ? [`not purged: ${said.error}`, true]
    : said.error === undefined ? [`purged: ${describe(said)}`, false]
    : [`purged here: ${describe(said)}; ${said.error}`, true];
}
