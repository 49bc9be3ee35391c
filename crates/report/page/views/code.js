// Views of what was measured at stacks: methods, flame graph, call tree, one method, one stack.

// The measure that is shown first. `jvmpi record --alloc` is asked what the program allocates.
const firstMeasure = () =>
  (recorded && measures[0]?.table.kind === 'sites' && measureOf('allocated-bytes')) ||
  measures[0];

// Threads of the JVM that did nothing: all their wall-clock samples are at one place.
function idleThreads(table) {
  const most = new Map();
  const all = new Map();
  const [{ values }] = table.measures;
  table.thread.forEach((thread, row) => {
    const value = values[AFTER][row];
    most.set(thread, Math.max(most.get(thread) ?? 0, value));
    all.set(thread, (all.get(thread) ?? 0) + value);
  });
  const isOfJvm = (thread) => /^(system|InnocuousThreadGroup)$/.test(strings[data.threads.group[thread]]);
  return new Set(
    [...all.keys()].filter((thread) => thread >= 0 && isOfJvm(thread) && most.get(thread) >= 0.95 * all.get(thread)),
  );
}

// The measure without idle threads of the JVM, if it is elapsed time.
function busy(measure) {
  if (measure.table.kind !== 'wall') return measure;
  const without = idleThreads(measure.table);
  if (without.size === 0) return measure;
  const table = measure.table;
  const left = measure.values.map((values) => sum(values.filter((_, row) => without.has(table.thread[row]))));
  return { ...measure, without, total: measure.total.map((total, profile) => total - left[profile]) };
}

// What the views of stacks show, which is in their address: the measure, limited to a range of time and a thread;
// whether lines are told apart, frames of the JDK and idle threads left out and recursion collapsed; the method that
// has the focus, and those that are hidden.
function chosen(query) {
  const listed = measureOf(query.m) ?? firstMeasure();
  const whenever = query.i === '1' ? listed : busy(listed);
  const span = spanOf(whenever, query.s);
  const measure = span ? during(whenever, span) : whenever;
  const thread = known(query.t, ...measures.map(({ table }) => table.thread));
  return {
    measure,
    span,
    thread,
    byLine: query.l === '1',
    byProgram: query.j === '0',
    idle: query.i === '1',
    collapse: query.c === '1',
    focus: known(query.f, [...methods.name.keys()]),
    hidden: new Set((query.x ?? '').split('.').filter((number) => number in methods.name).map(Number)),
    whole: wholes(measure, thread),
  };
}

// Threads that a measure has values for.
function threadsOf(measure) {
  return [...new Set(measure.table.thread)]
    .filter((thread) => thread >= 0)
    .sort((a, b) => threadName(a).localeCompare(threadName(b)));
}

// What can be set in these views; not all tell lines apart, or show the time.
function settings({ query, set, address }, { lines = true, map = true } = {}) {
  const { measure, thread, byLine, byProgram, collapse, focus, hidden, idle } = chosen(query);
  const threads = threadsOf(measure);
  const undo = (text, method, changes) =>
    h(
      'a',
      { class: 'undo', href: address(changes), title: methodName(method) },
      `${text} ${shortMethodName(method)} `,
      h('span', { 'aria-label': '(undo)' }, '✕'),
    );
  const controls = h(
    'div',
    { class: 'settings' },
    choice(
      'Measure',
      measures.map(({ name, title }) => [name, title]),
      measure.name,
      (m) => set({ m, t: null, s: null, v: null, z: null }),
    ),
    threads.length > 0 &&
      choice(
        'Thread',
        [['', 'all threads'], ...threads.map((thread) => [thread, threadName(thread)])],
        thread ?? '',
        (t) => set({ t: t || null }),
      ),
    lines && toggle('Lines', byLine, (on) => set({ l: on ? '1' : null, z: null })),
    toggle('Hide JDK frames', byProgram, (on) => set({ j: on ? '0' : null })),
    toggle('Collapse recursion', collapse, (on) => set({ c: on ? '1' : null })),
    (measure.without || idle) && toggle('Idle JVM threads', idle, (on) => set({ i: on ? '1' : null })),
    focus != null && undo('Focus:', focus, { f: null }),
    [...hidden].map((method) =>
      undo('Hidden:', method, { x: [...hidden].filter((other) => other !== method).join('.') || null }),
    ),
  );
  return map && measure.table.times ? [controls, heatMap({ query, set })] : controls;
}

// What the numbers leave out.
function notes({ measure, thread, whole }) {
  const said = [];
  const told = measure.values.map((values) => sum(rowsOf(measure, thread).map((row) => values[row])));
  const cut = whole.map((value, profile) => value - told[profile]);
  if (cut.some((value, profile) => value > 0.0005 * whole[profile])) {
    said.push(
      `${cut.map((value, profile) => percent(value, whole[profile])).join(' and ')} of the whole is in no row: the profiler leaves out what is below its option cutoff, and files in HPROF’s text format give shares with two digits.`,
    );
  }
  // 16 is what `jvmpi record --alloc` records.
  const { depth } = measure.table;
  if ((depth > 0 && depth <= 8) || depth === 16) {
    said.push(
      `Stacks end after ${counted(depth, 'frame')}, so totals miss the callers of deeper ones (the profiler’s option depth).`,
    );
  }
  return said.length > 0 && h('p', { class: 'hint' }, said.join(' '));
}

function methodsView(page) {
  const view = chosen(page.query);
  const { measure, whole } = view;
  const tree = treeOf({ ...view, byLine: false });
  const element = table({
    caption: `Methods by ${measure.title.toLowerCase()}`,
    columns: [
      ...valueColumns('Self', 'in the method itself', measure.unit, (row) => row.self, whole),
      ...valueColumns('Total', 'in the method and in what it calls', measure.unit, (row) => row.total, whole),
      {
        title: 'Method',
        value: (row) => methodName(row.method),
        cell: (row) => h('a', { href: page.keep('method', row.method) }, methodLabel(row.method)),
      },
    ],
    rows: methodRows(tree),
    by: comparing ? 2 : 0,
    text: (row) => methodName(row.method),
  });
  const shown = section('Methods', settings(page, { lines: false }), notes(view), element);
  return Object.assign(shown, { search: searchIn(element, tree, whole) });
}

// Searches a table of what a tree has, and tells the share of what matches.
const searchIn = (element, tree, whole) => (text) => {
  element.search(text);
  return text && `matches: ${percent(shareOf(tree, keyMatcher(tree, text), AFTER), whole[AFTER])}`;
};

// Whether callers are above what they call, or below.
function directions({ query, set }) {
  return switches(
    'Direction',
    [
      ['down', 'Callees below callers'],
      ['up', 'Callers below callees'],
    ],
    query.d === 'up' ? 'up' : 'down',
    (d) => set({ d: d === 'up' ? d : null, z: null }),
  );
}

function flameView(page) {
  const view = chosen(page.query);
  const tree = treeOf(view);
  const profile = comparing && page.query.w === 'before' ? BEFORE : AFTER;
  const graph = flameGraph({
    root: page.query.d === 'up' ? bottomUp(tree) : topDown(tree),
    whole: view.whole,
    unit: view.measure.unit,
    profile,
    page,
  });
  const shown = section(
    'Flame graph',
    settings(page),
    h(
      'div',
      { class: 'tools' },
      directions(page),
      comparing &&
        switches(
          'Width',
          [
            ['before', 'before'],
            ['after', 'after'],
          ],
          profile === BEFORE ? 'before' : 'after',
          (w) => page.set({ w }),
        ),
    ),
    notes(view),
    graph,
    legend(),
  );
  return Object.assign(shown, { search: graph.search, step: graph.step, update: graph.update });
}

function stackTreeTable(page, tree, whole, entries, caption) {
  const { unit } = tree.measure;
  const label = (entry) => {
    const method = methodOfKey(tree, entry.key);
    if (method == null) return h('span', { class: 'object' }, classLabel(keyName(tree, entry.key)));
    return [
      h('a', { href: page.keep('method', method), tabindex: -1 }, methodLabel(method)),
      tree.byLine && h('span', { class: 'line' }, ` ${lineName(entry.key)}`),
    ].filter(Boolean);
  };
  const own =
    entries[0]?.up === false
      ? valueColumns('Self', 'in the method itself', unit, (entry) => entry.self, whole)
      : [];
  return treeTable({
    caption,
    columns: [
      ...valueColumns('Total', 'in the method and in what it calls', unit, (entry) => entry.total, whole),
      ...own,
      { title: 'Method', cell: (entry) => h('span', {}, label(entry)) },
    ],
    entries,
    // The way that most goes.
    open: (entry, above) =>
      entry.total[AFTER] > 0 && (!above || entry.total[AFTER] >= 0.5 * above.total[AFTER]),
    menu: (entry) => [keyName(tree, entry.key), frameActions(page, tree, entry.key)],
  });
}

function treeView(page) {
  const view = chosen(page.query);
  const tree = treeOf(view);
  const up = page.query.d === 'up';
  const element = stackTreeTable(
    page,
    tree,
    view.whole,
    (up ? bottomUp(tree) : topDown(tree)).children(),
    up ? 'Methods and their callers' : 'Call tree',
  );
  const shown = section(
    'Call tree',
    settings(page),
    h('div', { class: 'tools' }, directions(page)),
    notes(view),
    element,
  );
  return Object.assign(shown, { search: searchIn(element, tree, view.whole), step: element.step });
}

// A method between its callers and its callees, as graphs and as tables.
function methodView(page) {
  const method = Number(page.argument);
  const view = chosen(page.query);
  const { measure, thread, whole } = view;
  if (!(method in methods.name)) return nothing('There is no such method.');
  const tree = treeOf(view);
  const [first, ...others] = outermost(tree, method);
  const members = first ? [first, ...others].map(memberOf) : [];
  const key = first && tree.key[first];
  const callers = new Group(tree, key, members, true);
  const callees = new Group(tree, key, members);
  const of = methodRows(tree).find((row) => row.method === method) ?? { self: zeros(), total: zeros() };
  const graph = (root, title, up, at) =>
    flameGraph({ root, whole, unit: measure.unit, profile: AFTER, page, title, up, at });
  const graphs = first && [graph(callers, 'Graph of callers', true, 'z'), graph(callees, 'Graph of callees', false, 'y')];
  const shown = h(
    'section',
    { 'aria-label': methodName(method) },
    h('h2', {}, methodLabel(method)),
    settings(page),
    facts([
      valueFact('self', of.self, whole, measure.unit),
      valueFact('total', of.total, whole, measure.unit),
    ]),
    graphs && h('div', { class: 'sandwich' }, graphs),
    linesTable(method, measure, thread, whole),
    section('Callers', stackTreeTable(page, tree, whole, callers.children(), 'Callers')),
    section('Callees', stackTreeTable(page, tree, whole, callees.children(), 'Callees')),
  );
  if (!graphs) return shown;
  return Object.assign(shown, {
    search: (text) => graphs.map((graph) => graph.search(text))[0],
    update: (page) => graphs.forEach((graph) => graph.update(page)),
  });
}

// The lines of a method that have something of their own.
function linesTable(method, measure, thread, whole) {
  const lines = sumBy(measure, rowsOf(measure, thread), (row) => {
    const node = measure.table.node[row];
    return methodAt(node) === method ? nodes.frame[node] : null;
  });
  if (lines.size < 2) return null;
  return section(
    'Lines',
    table({
      caption: 'Lines by self',
      rows: [...lines],
      text: ([frame]) => lineName(frame),
      columns: [
        ...valueColumns('Self', 'at this line', measure.unit, ([, values]) => values, whole),
        { title: 'Line', value: ([frame]) => frames.line[frame], cell: ([frame]) => lineName(frame) },
      ],
    }),
  );
}

// One stack, innermost frame first, as it stands in the file.
function stackView(page) {
  const innermost = Number(page.argument);
  if (!(innermost in nodes.parent)) return nothing('There is no such stack.');
  const stack = [];
  for (let node = innermost; node !== 0; node = nodes.parent[node]) stack.push(nodes.frame[node]);
  return section(
    'Stack',
    h(
      'ol',
      { class: 'stack' },
      stack.map((frame) =>
        h(
          'li',
          {},
          h('a', { href: page.keep('method', frames.method[frame]) }, methodLabel(frames.method[frame])),
          h('span', { class: 'line' }, ` ${lineName(frame)}`),
        ),
      ),
    ),
    stack.length === 0 && h('p', {}, 'Nothing is known of this stack.'),
  );
}

// A stack in a row of a table: its innermost frame, or the one of `shown`, with an address for the rest.
function stackLink(page, node, shown = node) {
  if (node === 0) return h('span', { class: 'quiet' }, 'no stack');
  const frame = nodes.frame[shown];
  return h(
    'a',
    { href: page.keep('stack', node) },
    methodLabel(frames.method[frame]),
    h('span', { class: 'line' }, ` ${lineName(frame)}`),
  );
}

const stackText = (node) => {
  const names = [];
  for (; node !== 0; node = nodes.parent[node]) names.push(methodName(methodAt(node)));
  return names.join(' ');
};

function nothing(text) {
  return h('section', {}, h('h2', {}, 'Nothing here'), h('p', {}, text));
}
