// What is measured at stacks: who it belongs to by itself, who with what it called, and the trees of it.

// All measures of all tables.
const measures = data.tables.flatMap((table) => table.measures.map((measure) => ({ ...measure, table })));
const measureOf = (name) => measures.find((measure) => measure.name === name);
const tableOf = (kind) => data.tables.find((table) => table.kind === kind);

// The rows of a measure's table that are of a thread, or all but those of threads that are left out.
function rowsOf(measure, thread) {
  const all = [...measure.table.node.keys()];
  if (thread != null) return all.filter((row) => measure.table.thread[row] === thread);
  return measure.without ? all.filter((row) => !measure.without.has(measure.table.thread[row])) : all;
}

// For each profile, the whole of which parts are told.
function wholes(measure, thread) {
  if (thread == null) return measure.total;
  const rows = rowsOf(measure, thread);
  return measure.values.map((values) => sum(rows.map((row) => values[row])));
}

// The method of a node's frame; null if it has none.
const methodAt = (node) => (node === 0 ? null : frames.method[nodes.frame[node]]);

// The sums of a measure's rows by key, in each profile. Rows for which `keyOf` returns null are left out.
function sumBy(measure, rows, keyOf) {
  const found = new Map();
  for (const row of rows) {
    const key = keyOf(row);
    if (key == null) continue;
    if (!found.has(key)) found.set(key, zeros());
    measure.values.forEach((values, profile) => {
      found.get(key)[profile] += values[row];
    });
  }
  return found;
}

// The innermost frame's node that is outside of what `pattern` matches, or the node itself if there is none.
function outsideOf(pattern, innermost) {
  let node = innermost;
  while (node !== 0 && pattern.test(methodClass(methodAt(node)))) node = nodes.parent[node];
  return node || innermost;
}

const isOfJdk = methods.class.map((name) => JDK.test(strings[name]));

// The stacks of a measure as a tree: node 0 is below all, callers come before what they call.
//
// What a node is, is its key: a frame if lines are told apart, else a method, and for what a row is about, such
// as the class of allocated objects, −1 less its string. `view` says what is shown, as `chosen` returns it.
class StackTree {
  constructor({ measure, thread, byLine, byProgram, focus, hidden, collapse }) {
    const most = 1 + nodes.parent.length + measure.table.node.length;
    this.measure = measure;
    this.byLine = byLine;
    this.size = 1;
    this.parent = new Int32Array(most);
    this.key = [null];
    // The method of each node, or −1.
    this.methodAt = new Int32Array(most).fill(-1);
    this.self = profiles.map(() => new Float64Array(most));
    // The last child of each node, and the child before each child.
    this.last = new Int32Array(most);
    this.before = new Int32Array(most);
    // Row of the table -> its node.
    this.nodeOf = new Map();
    // Nodes by parent and key: an open hash table, many times as fast as a Map.
    const bits = 33 - Math.clz32(most);
    const table = new Int32Array(2 ** bits);
    const child = (parent, key, method) => {
      if (collapse && method >= 0 && this.methodAt[parent] === method) return parent;
      let slot = Math.imul(Math.imul(parent, 0x9e3779b1) ^ key, 0x85ebca6b) >>> (32 - bits);
      for (; table[slot] !== 0; slot = (slot + 1) % table.length) {
        const node = table[slot];
        if (this.parent[node] === parent && this.key[node] === key) return node;
      }
      const node = this.size;
      this.size += 1;
      table[slot] = node;
      this.parent[node] = parent;
      this.key.push(key);
      this.methodAt[node] = method;
      this.before[node] = this.last[parent];
      this.last[parent] = node;
      return node;
    };
    // A stack of another measure makes no node, and what is outside of the focus has none.
    const UNKNOWN = -1;
    const OUTSIDE = -2;
    const places = new Int32Array(nodes.parent.length).fill(UNKNOWN);
    places[0] = focus == null ? 0 : OUTSIDE;
    const place = (node) => {
      const missing = [];
      for (; places[node] === UNKNOWN; node = nodes.parent[node]) missing.push(node);
      let at = places[node];
      while (missing.length) {
        const next = missing.pop();
        const frame = nodes.frame[next];
        const method = frames.method[frame];
        if (at === OUTSIDE && method === focus) at = 0;
        if (at !== OUTSIDE && !hidden.has(method) && !(byProgram && isOfJdk[method]))
          at = child(at, byLine ? frame : method, method);
        places[next] = at;
      }
      return at;
    };
    for (const row of rowsOf(measure, thread)) {
      let at = place(measure.table.node[row]);
      if (at === OUTSIDE) continue;
      const object = measure.table.object[row];
      if (object >= 0) at = child(at, -1 - object, -1);
      this.nodeOf.set(row, at);
      measure.values.forEach((values, profile) => {
        this.self[profile][at] += values[row];
      });
    }
    this.total = this.self.map((values) => values.slice());
    for (const values of this.total) {
      for (let node = this.size - 1; node > 0; node -= 1) values[this.parent[node]] += values[node];
    }
  }

  children(node) {
    const children = [];
    for (let child = this.last[node]; child !== 0; child = this.before[child]) children.push(child);
    return children.reverse();
  }
}

let lastTree = { key: null, tree: null };

// The tree of what is shown. The last one is kept: most steps from view to view need the same.
function treeOf(view) {
  const { measure, span, thread, byLine, byProgram, focus, hidden, collapse, idle } = view;
  const key = JSON.stringify([measure.name, span, thread, byLine, byProgram, focus, [...hidden], collapse, idle]);
  if (key !== lastTree.key) lastTree = { key, tree: new StackTree(view) };
  return lastTree.tree;
}

// [method, what it has by itself] of all methods.
const selfRows = (measure, rows = rowsOf(measure, null)) => [
  ...sumBy(measure, rows, (row) => methodAt(measure.table.node[row])),
];

// For each method that has any, what it has by itself and with what it called.
function methodRows(tree) {
  const found = new Map();
  const of = (method) => {
    if (!found.has(method)) found.set(method, { method, self: zeros(), total: zeros() });
    return found.get(method);
  };
  for (let node = 1; node < tree.size; node += 1) {
    const method = tree.methodAt[node];
    if (method < 0) {
      // What a row is about belongs to the method that it was at.
      const at = tree.methodAt[tree.parent[node]];
      if (at >= 0) tree.self.forEach((values, profile) => (of(at).self[profile] += values[node]));
      continue;
    }
    const entry = of(method);
    // A method that calls itself counts once.
    let above = tree.parent[node];
    while (above !== 0 && tree.methodAt[above] !== method) above = tree.parent[above];
    for (let profile = 0; profile < profiles.length; profile += 1) {
      entry.self[profile] += tree.self[profile][node];
      if (above === 0) entry.total[profile] += tree.total[profile][node];
    }
  }
  return [...found.values()].filter((entry) => entry.total.some((value) => value !== 0));
}

const isObject = (key) => key < 0;

function methodOfKey(tree, key) {
  if (key == null || isObject(key)) return null;
  return tree.byLine ? frames.method[key] : key;
}

function keyName(tree, key) {
  if (key == null) return 'all';
  if (isObject(key)) return strings[-1 - key];
  return tree.byLine ? `${methodName(frames.method[key])} (${lineName(key)})` : methodName(key);
}

// The share of the stacks in which something matches, for a profile.
function shareOf(tree, matches, profile) {
  let matched = 0;
  const pending = [0];
  while (pending.length) {
    const node = pending.pop();
    // What is below a match is its own: it counts once.
    if (matches(tree.key[node])) matched += tree.total[profile][node];
    else for (let child = tree.last[node]; child !== 0; child = tree.before[child]) pending.push(child);
  }
  return matched;
}

// A test for the keys that a search finds.
function keyMatcher(tree, query) {
  const matches = matcher(query);
  const known = new Map();
  return (key) => {
    if (!known.has(key)) known.set(key, key != null && matches(keyName(tree, key)));
    return known.get(key);
  };
}

// Nodes with one key, together, as [node, node whose values count, whether its own only]. Below are those that they
// call or, if it goes `up`, those that call them.
class Group {
  constructor(tree, key, members, up = false) {
    Object.assign(this, { tree, key, members, up });
    this.total = profiles.map((_, profile) =>
      sum(members.map(([, of, own]) => (own ? tree.self : tree.total)[profile][of])),
    );
    this.self = profiles.map((_, profile) =>
      sum(members.map(([at, of]) => (at === of ? tree.self[profile][of] : 0))),
    );
  }

  get hasChildren() {
    return this.members.some(([node]) => (this.up ? this.tree.parent : this.tree.last)[node] !== 0);
  }

  children() {
    const { tree, up } = this;
    const below = ([node, ...of]) => (up ? [[tree.parent[node], ...of]] : tree.children(node).map(memberOf));
    const groups = () =>
      Map.groupBy(
        this.members.flatMap(below).filter(([node]) => node !== 0),
        ([node]) => tree.key[node],
      );
    this.made ??= largestFirst([...groups()].map(([key, members]) => new Group(tree, key, members, up)));
    return this.made;
  }
}

// A member of a group: a node with what it called.
const memberOf = (node) => [node, node, false];

// Largest change first when profiles are compared, else largest first; nothing that nobody has.
function largestFirst(entries) {
  const size = (entry) => (comparing ? Math.abs(change(entry.total)) : entry.total[AFTER]);
  return entries
    .filter((entry) => entry.total.some((value) => value !== 0))
    .sort((a, b) => size(b) - size(a) || b.total[AFTER] - a.total[AFTER]);
}

// The whole tree from its root down.
const topDown = (tree) => new Group(tree, null, [memberOf(0)]);

// All that have something of their own, with their callers below them.
function bottomUp(tree) {
  const own = [];
  for (let node = 1; node < tree.size; node += 1) if (tree.self.some((values) => values[node] !== 0)) own.push(node);
  const groups = Map.groupBy(own, (node) => tree.key[node]);
  const made = largestFirst(
    [...groups].map(([key, nodes]) => new Group(tree, key, nodes.map((node) => [node, node, true]), true)),
  );
  return {
    tree,
    key: null,
    total: tree.total.map((values) => values[0]),
    self: zeros(),
    hasChildren: true,
    children: () => made,
  };
}

// The nodes of a method that no other node of it is above: together, all that the method has.
function outermost(tree, method) {
  const within = [false];
  const found = [];
  for (let node = 1; node < tree.size; node += 1) {
    const is = tree.methodAt[node] === method;
    const inside = within[tree.parent[node]];
    if (is && !inside) found.push(node);
    within.push(inside || is);
  }
  return found;
}
