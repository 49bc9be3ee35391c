// Samples over time: heat maps of methods, thread states or threads, and the stacks of a thread in order of time.

const HEAT_ROWS = 7;
const HEAT_HEIGHT = 16;
const HEAT_COLUMNS = 240;

// Two numbers in an address, as [first, last], or null.
function rangeOf(text) {
  const [first, last] = (text ?? '').split('-').map(Number);
  return first >= 0 && last >= first ? [first, last] : null;
}

// The buckets of a measure that are chosen in an address, or null for all.
const spanOf = (measure, text) => (measure.table.times ? rangeOf(text) : null);

// The number of buckets, and the range of them that a map shows.
function windowOf(measure, text) {
  const count = measure.table.times.number.reduce((most, one) => Math.max(most, one + 1), 1);
  const [first, last] = (rangeOf(text) ?? [0, count - 1]).map((one) => Math.min(one, count - 1));
  return { count, first, last };
}

// The measure with the values of some buckets of time only.
function during(measure, [first, last]) {
  const { number, row, value } = measure.table.times;
  const values = measure.table.node.map(() => 0);
  number.forEach((bucket, index) => {
    if (bucket >= first && bucket <= last) values[row[index]] += value[index];
  });
  const kept = rowsOf(measure, null);
  return { ...measure, values: [values], total: [sum(kept.map((row) => values[row]))] };
}

// What a row of a table is in a heat map: the thread state, or the innermost method.
function heatName(table, row) {
  if (table.object[row] >= 0) return strings[table.object[row]];
  const method = methodAt(table.node[row]);
  return method == null ? 'no stack' : shortMethodName(method);
}

// Key -> value of each column, of which each has some buckets; `keyOf(row)` is null for rows that are left out.
function heatRows(measure, { first, last }, per, keyOf) {
  const { number, row, value } = measure.table.times;
  const rows = new Map();
  const columns = Math.ceil((last - first + 1) / per);
  number.forEach((bucket, index) => {
    const key = keyOf(row[index]);
    if (key == null || bucket < first || bucket > last) return;
    if (!rows.has(key)) rows.set(key, new Array(columns).fill(0));
    rows.get(key)[Math.floor((bucket - first) / per)] += value[index];
  });
  return [...rows].sort(([, a], [, b]) => sum(b) - sum(a));
}

const added = (rows, columns) => {
  const all = new Array(columns).fill(0);
  for (const [, values] of rows) values.forEach((value, column) => (all[column] += value));
  return all;
};

// A row for all, for each method or state that has most, and for the others.
function hottestRows({ measure, thread }, window, per) {
  const { table } = measure;
  const isShown = new Set(rowsOf(measure, thread));
  const sorted = heatRows(measure, window, per, (row) => (isShown.has(row) ? heatName(table, row) : null));
  const columns = Math.ceil((window.last - window.first + 1) / per);
  const all = added(sorted, columns);
  const others = sorted.slice(HEAT_ROWS);
  if (others.length) sorted.splice(HEAT_ROWS, others.length, ['others', added(others, columns)]);
  return [['all', all], ...sorted].map(([name, values]) => {
    const most = values.reduce((a, b) => Math.max(a, b), 1);
    return { name, label: name, values, most };
  });
}

// A row for each thread: how much of a processor it used. Of elapsed time, only what it ran counts.
function trackRows({ measure }, window, per, { keep }) {
  const { table } = measure;
  const isRunning = (row) => table.kind !== 'wall' || strings[table.object[row]] === '[running]';
  const inTime = measure.unit === 'microseconds';
  const rows = heatRows(measure, window, per, (row) => (isRunning(row) ? table.thread[row] : null));
  const whole = (window.last - window.first + 1) * table.times.bucket;
  return rows.map(([thread, values]) => {
    const most = inTime ? per * table.times.bucket : values.reduce((a, b) => Math.max(a, b), 1);
    const use = inTime ? ` ${percent(sum(values), whole)}` : '';
    const name = `${threadName(thread)}${use}`;
    return {
      name,
      label: [
        h('a', { href: keep('time', null, { t: thread }) }, threadName(thread)),
        h('span', { class: 'quiet' }, use),
      ],
      values,
      most,
    };
  });
}

// The heat map of the measure in an address, of which `v` is the range that is shown, and `s` the one that limits the
// views.
function heatMap(page, rowsFor = hottestRows) {
  const { query, set } = page;
  const view = chosen(query);
  const { measure, span } = view;
  const { bucket } = measure.table.times;
  const window = windowOf(measure, query.v);
  const { count, first, last } = window;
  const size = last - first + 1;
  const per = Math.ceil(size / HEAT_COLUMNS);
  const columns = Math.ceil(size / per);
  const seconds = (buckets) => Number(((buckets * bucket) / 1e6).toFixed(3));
  const range = (from, to) => {
    const [least, most] = [Math.min(from, to), Math.max(from, to)].map((one) =>
      Math.max(0, Math.min(count - 1, Math.round(one))),
    );
    return least === 0 && most === count - 1 ? null : `${least}-${most}`;
  };
  const select = (from, to) => set({ s: range(from, to) });
  // Shows so many buckets from one on, or as near to it as there are.
  const look = (start, wide) => {
    const from = Math.max(0, Math.min(count - wide, start));
    set({ v: range(from, from + wide - 1) });
  };
  const zoom = (part) => {
    const wide = Math.max(8, Math.min(count, size * part));
    look(first + (size - wide) / 2, wide);
  };
  const cells = [];
  const rows = rowsFor(view, window, per, page);
  rows.forEach(({ name, values, most }, row) => {
    values.forEach((value, column) => {
      if (value === 0) return;
      const from = first + column * per;
      cells.push(
        h('div', {
          class: 'cell',
          title: `${name}, ${seconds(from)}–${seconds(Math.min(from + per, last + 1))} s: ${show(value, measure.unit)}`,
          style: {
            left: `${(100 * column) / columns}%`,
            width: `${100 / columns}%`,
            top: `${row * HEAT_HEIGHT}px`,
            opacity: (0.15 + 0.85 * Math.min(1, value / most)).toFixed(2),
          },
        }),
      );
    });
  });
  const wide = columns * per;
  if (span && span[1] >= first && span[0] <= last)
    cells.push(
      h('div', {
        class: 'span',
        style: {
          left: `${(100 * (span[0] - first)) / wide}%`,
          width: `${(100 * (span[1] + 1 - span[0])) / wide}%`,
        },
      }),
    );
  const at = (event) => {
    const { left, width } = map.getBoundingClientRect();
    const column = Math.floor(((event.clientX - left) / width) * columns);
    return first + Math.max(0, Math.min(columns - 1, column)) * per;
  };
  let from = null;
  const map = h(
    'div',
    {
      class: 'map',
      role: 'group',
      tabindex: 0,
      'aria-label': 'Map: plus and minus zoom, arrow keys move',
      style: { height: `${rows.length * HEAT_HEIGHT}px` },
      onpointerdown: (event) => {
        from = at(event);
        map.setPointerCapture(event.pointerId);
      },
      onpointerup: (event) => {
        if (from != null) select(Math.min(from, at(event)), Math.max(from, at(event)) + per - 1);
      },
      onkeydown: (event) =>
        act(event, {
          '+': () => zoom(0.5),
          '-': () => zoom(2),
          ArrowLeft: () => look(first - size / 4, size),
          ArrowRight: () => look(first + size / 4, size),
        }),
    },
    cells,
  );
  const field = (label, value, change) =>
    h(
      'label',
      { class: 'choice' },
      h('span', {}, label),
      h('input', {
        type: 'number',
        min: 0,
        max: seconds(count),
        step: seconds(1),
        value,
        onchange: (event) => change(Math.round((Number(event.target.value) * 1e6) / bucket)),
      }),
    );
  const [begin, end] = span ?? [0, count - 1];
  const button = (text, onclick) => h('button', { type: 'button', onclick }, text);
  return h(
    'div',
    { class: 'heat', role: 'group', 'aria-label': 'Samples over time' },
    h(
      'div',
      { class: 'settings' },
      field('From second', seconds(begin), (value) => select(value, end)),
      field('to', seconds(end + 1), (value) => select(begin, value - 1)),
      span && button('Zoom to it', () => set({ v: range(...span) })),
      size < count && button('Zoom out', () => zoom(2)),
      (span || size < count) && button('Whole time', () => set({ s: null, v: null })),
      h('span', { class: 'quiet' }, `${seconds(first)}–${seconds(last + 1)} s, ${Math.round((per * bucket) / 1000)} ms in a column`),
    ),
    h(
      'div',
      { class: 'rows' },
      h(
        'ol',
        {},
        rows.map(({ name, label }) => h('li', { title: name }, label)),
      ),
      map,
    ),
  );
}

// What a thread did, without a break, in a frame: an entry of a graph in time.
class Moment {
  constructor(tree, node, at, id) {
    Object.assign(this, { tree, node, at, id, key: tree.key[node], total: [0], self: [0], wide: 0, made: [] });
  }

  get hasChildren() {
    return this.made.length > 0;
  }

  children() {
    return this.made;
  }
}

// The moments of a thread. The stacks that were found in a bucket of time share it.
function momentsOf(tree, [first, last]) {
  const { bucket, number, row, value } = tree.measure.table.times;
  const root = new Moment(tree, 0, first * bucket, 0);
  root.wide = (last - first + 1) * bucket;
  const found = [];
  number.forEach((time, index) => {
    const node = tree.nodeOf.get(row[index]);
    if (node !== undefined && time >= first && time <= last) found.push([time, node, value[index]]);
  });
  const inBucket = new Map();
  for (const [time, , value] of found) inBucket.set(time, (inBucket.get(time) ?? 0) + value);
  found.sort(([a], [b]) => a - b);
  let open = [root];
  let end = root.at;
  let begun = -1;
  for (const [time, node, value] of found) {
    if (time !== begun && end < time * bucket - 1) open = [root];
    const at = time === begun ? end : time * bucket;
    const wide = (bucket * value) / inBucket.get(time);
    const path = [];
    for (let above = node; above !== 0; above = tree.parent[above]) path.unshift(above);
    let same = 0;
    while (same < path.length && open[same + 1]?.node === path[same]) same += 1;
    open.length = same + 1;
    for (const node of path.slice(same)) {
      const { made } = open.at(-1);
      made.push(new Moment(tree, node, at, made.length));
      open.push(made.at(-1));
    }
    for (const moment of open) {
      moment.total[0] += value;
      if (moment !== root) moment.wide += wide;
    }
    open.at(-1).self[0] += value;
    end = at + wide;
    begun = time;
  }
  return root;
}

function timeView(page) {
  const timed = measures.filter((measure) => measure.table.times);
  const { m } = page.query;
  const query = { ...page.query, m: timed.some(({ name }) => name === m) ? m : timed[0].name };
  const view = chosen(query);
  const { measure } = view;
  const values = sumBy(measure, rowsOf(measure, null), (row) => measure.table.thread[row]);
  const [busiest] = [...values].sort(([, a], [, b]) => b[AFTER] - a[AFTER])[0] ?? [];
  const thread = view.thread ?? busiest ?? null;
  const { first, last } = windowOf(measure, query.v);
  const tree = treeOf({ ...view, thread });
  const root = momentsOf(tree, view.span ?? [first, last]);
  const graph = flameGraph({
    root,
    whole: root.total,
    unit: measure.unit,
    profile: AFTER,
    page: { ...page, query },
    title: 'Stacks in order of time',
  });
  const shown = h(
    'div',
    {},
    section(
      'Time',
      settings({ ...page, query }, { map: false }),
      heatMap({ ...page, query }, trackRows),
      thread == null || thread < 0
        ? h('p', { class: 'hint' }, 'Stacks are not kept by thread in this file: those of all threads are mixed.')
        : null,
    ),
    section(`Stacks in order of time${thread >= 0 && thread != null ? `: ${threadName(thread)}` : ''}`, graph),
    legend(),
  );
  return Object.assign(shown, { search: graph.search, step: graph.step, update: graph.update });
}
