// What is measured at stacks: who it belongs to by itself, who with what it called, and the trees of it.

// All measures of all tables.
const measures = data.tables.flatMap((table) => table.measures.map((measure) => ({ ...measure, table })));
const tableOf = (kind) => data.tables.find((table) => table.kind === kind);

// The rows of a measure's table that are of a thread, or all.
function rowsOf(measure, thread) {
  const all = [...measure.table.node.keys()];
  return thread == null ? all : all.filter((row) => measure.table.thread[row] === thread);
}

// For each profile, the whole of which parts are told.
function wholes(measure, thread) {
  if (thread == null) return measure.total;
  const rows = rowsOf(measure, thread);
  return measure.values.map((values) => sum(rows.map((row) => values[row])));
}

// True if the frame is of the JDK and these are left out. What it has then belongs to what has called it.
const isLeftOut = (frame, byProgram) => byProgram && JDK.test(methodClass(frames.method[frame]));

// The innermost frame's node that is outside of what `pattern` matches, or the node itself if there is none.
function outsideOf(pattern, innermost) {
  let node = innermost;
  while (node !== 0 && pattern.test(methodClass(frames.method[nodes.frame[node]]))) node = nodes.parent[node];
  return node || innermost;
}

// For each method that has any, what it has by itself and with what it called.
function methodRows(measure, thread, byProgram = false) {
  const found = new Map();
  const of = (method) => {
    if (!found.has(method)) found.set(method, { method, self: zeros(), total: zeros(), seen: -1 });
    return found.get(method);
  };
  for (const row of rowsOf(measure, thread)) {
    const values = measure.values.map((values) => values[row]);
    let innermost = measure.table.node[row];
    while (innermost !== 0 && isLeftOut(nodes.frame[innermost], byProgram)) innermost = nodes.parent[innermost];
    for (let node = innermost; node !== 0; node = nodes.parent[node]) {
      if (isLeftOut(nodes.frame[node], byProgram)) continue;
      const entry = of(frames.method[nodes.frame[node]]);
      // A method that calls itself counts once.
      if (entry.seen !== row)
        values.forEach((value, profile) => {
          entry.total[profile] += value;
        });
      entry.seen = row;
      if (node === innermost)
        values.forEach((value, profile) => {
          entry.self[profile] += value;
        });
    }
  }
  return [...found.values()].filter((entry) => entry.total.some((value) => value !== 0));
}

// The stacks of a measure as a tree: node 0 is below all, callers come before what they call.
//
// What a node is, is its key: a frame if lines are told apart, else a method, and for what a row is about, such
// as the class of allocated objects, −1 less its string.
class StackTree {
  constructor(measure, thread, byLine, byProgram = false) {
    this.measure = measure;
    this.byLine = byLine;
    this.parent = [0];
    this.key = [null];
    this.self = profiles.map(() => [0]);
    this.below = [[]];
    const ids = new Map();
    const child = (parent, key) => {
      const id = `${parent}/${key}`;
      if (!ids.has(id)) {
        ids.set(id, this.parent.length);
        this.below[parent].push(this.parent.length);
        this.parent.push(parent);
        this.key.push(key);
        this.below.push([]);
        this.self.forEach((values) => values.push(0));
      }
      return ids.get(id);
    };
    // A stack of another measure makes no node.
    const places = new Map([[0, 0]]);
    const place = (node) => {
      const missing = [];
      for (; !places.has(node); node = nodes.parent[node]) missing.push(node);
      let at = places.get(node);
      for (const node of missing.reverse()) {
        const frame = nodes.frame[node];
        if (!isLeftOut(frame, byProgram)) at = child(at, byLine ? frame : frames.method[frame]);
        places.set(node, at);
      }
      return at;
    };
    for (const row of rowsOf(measure, thread)) {
      const object = measure.table.object[row];
      let at = place(measure.table.node[row]);
      if (object >= 0) at = child(at, -1 - object);
      measure.values.forEach((values, profile) => {
        this.self[profile][at] += values[row];
      });
    }
    this.total = this.self.map((values) => values.slice());
    for (let node = this.parent.length - 1; node > 0; node -= 1) {
      for (const values of this.total) values[this.parent[node]] += values[node];
    }
  }

  totals(node) {
    return this.total.map((values) => values[node]);
  }

  selfs(node) {
    return this.self.map((values) => values[node]);
  }

  method(node) {
    return methodOfKey(this, this.key[node]);
  }
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

// What is called: the nodes with one key below the same callers, together.
class Callees {
  constructor(tree, key, members) {
    Object.assign(this, { tree, key, members });
    this.total = tree.total.map((values) => sum(members.map((node) => values[node])));
    this.self = tree.self.map((values) => sum(members.map((node) => values[node])));
  }

  get hasChildren() {
    return this.members.some((node) => this.tree.below[node].length > 0);
  }

  children() {
    const groups = Map.groupBy(
      this.members.flatMap((node) => this.tree.below[node]),
      (node) => this.tree.key[node],
    );
    return largestFirst([...groups].map(([key, members]) => new Callees(this.tree, key, members)));
  }
}

// Who calls: what its members have, as [node at which we are, node whose values count, whether its own only].
class Callers {
  constructor(tree, key, members) {
    Object.assign(this, { tree, key, members });
    this.total = profiles.map((_, profile) =>
      sum(members.map(([, of, own]) => (own ? tree.self : tree.total)[profile][of])),
    );
  }

  get hasChildren() {
    return this.members.some(([node]) => this.tree.parent[node] !== 0);
  }

  children() {
    const above = this.members
      .map(([node, ...of]) => [this.tree.parent[node], ...of])
      .filter(([node]) => node !== 0);
    const groups = Map.groupBy(above, ([node]) => this.tree.key[node]);
    return largestFirst([...groups].map(([key, members]) => new Callers(this.tree, key, members)));
  }
}

// Largest change first when profiles are compared, else largest first; nothing that nobody has.
function largestFirst(entries) {
  const size = (entry) => (comparing ? Math.abs(change(entry.total)) : entry.total[AFTER]);
  return entries
    .filter((entry) => entry.total.some((value) => value !== 0))
    .sort((a, b) => size(b) - size(a) || b.total[AFTER] - a.total[AFTER]);
}

// The whole tree from its root down.
const topDown = (tree) => new Callees(tree, null, [0]).children();

// All that have something of their own, with their callers below them.
function bottomUp(tree) {
  const own = [...tree.parent.keys()].slice(1).filter((node) => tree.self.some((values) => values[node] !== 0));
  const groups = Map.groupBy(own, (node) => tree.key[node]);
  return largestFirst(
    [...groups].map(
      ([key, members]) =>
        new Callers(
          tree,
          key,
          members.map((node) => [node, node, true]),
        ),
    ),
  );
}

// The nodes of a method that no other node of it is above: together, all that the method has.
function outermost(tree, method) {
  const within = [false];
  const found = [];
  for (let node = 1; node < tree.parent.length; node += 1) {
    const is = tree.method(node) === method;
    const inside = within[tree.parent[node]];
    if (is && !inside) found.push(node);
    within.push(inside || is);
  }
  return found;
}
