// The nodes of a cluster, as /cluster of this one describes them: a row each, in the order of their names.

const COLUMNS = {
  node: ({ name }) => name,
  state: ({ state }) => state,
  "purges behind": ({ lag }) => lag,
  "from the store": ({ hitRatio }) => `${(hitRatio * 100).toFixed(1)} %`,
  fetches: ({ fetches }) => fetches,
  objects: ({ objects }) => objects,
};

export class NodeTable {
  constructor() {
    this.element = document.createElement("section");
    const heading = document.createElement("h2");
    heading.textContent = "Nodes";
    const table = document.createElement("table");
    table.createTHead().append(rowOf("th", Object.keys(COLUMNS)));
    this.body = table.createTBody();
    this.element.append(heading, table);
  }

  show({ nodes }) {
    const sorted = nodes.toSorted((one, other) => one.name.localeCompare(other.name));
    this.body.replaceChildren(...sorted.map((node) => rowOf("td", Object.values(COLUMNS).map((read) => read(node)))));
  }
}

function rowOf(kind, texts) {
  const row = document.createElement("tr");
  row.append(...texts.map((text) => {
    const cell = document.createElement(kind);
    cell.textContent = text;
    return cell;
  }));
  return row;
}
