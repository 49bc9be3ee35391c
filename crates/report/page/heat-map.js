// Samples over time: a row for each method or thread state that has most, a column for each bucket of time.

const HEAT_ROWS = 7;
const HEAT_HEIGHT = 16;

// The buckets of a measure that are chosen in an address, as [first, last], or null for all.
function spanOf(measure, text) {
  const [first, last] = (text ?? '').split('-').map(Number);
  return measure.table.times && first >= 0 && last >= first ? [first, last] : null;
}

// The measure with the values of some buckets of time only.
function during(measure, [first, last]) {
  const { number, row, value } = measure.table.times;
  const values = measure.table.node.map(() => 0);
  number.forEach((bucket, index) => {
    if (bucket >= first && bucket <= last) values[row[index]] += value[index];
  });
  return { ...measure, values: [values], total: [sum(values)] };
}

// What a row of a table is in a heat map: the thread state, or the innermost method.
function heatName(table, row) {
  if (table.object[row] >= 0) return strings[table.object[row]];
  const node = table.node[row];
  return node === 0 ? 'no stack' : shortMethodName(frames.method[nodes.frame[node]]);
}

// [name, value of each bucket] of all, of those that have most, and of the others.
function heatRows(measure, thread, count) {
  const { table } = measure;
  const { number, row, value } = table.times;
  const rows = new Map();
  const all = new Array(count).fill(0);
  number.forEach((bucket, index) => {
    if (thread != null && table.thread[row[index]] !== thread) return;
    const name = heatName(table, row[index]);
    if (!rows.has(name)) rows.set(name, new Array(count).fill(0));
    rows.get(name)[bucket] += value[index];
    all[bucket] += value[index];
  });
  const sorted = [...rows].sort(([, a], [, b]) => sum(b) - sum(a));
  const others = sorted.slice(HEAT_ROWS);
  if (others.length)
    sorted.splice(HEAT_ROWS, others.length, [
      'others',
      all.map((_, bucket) => sum(others.map(([, values]) => values[bucket]))),
    ]);
  return [['all', all], ...sorted];
}

// The heat map of the measure in an address; the range that is chosen there is set in `s`.
function heatMap({ measure, thread, span, set }) {
  const { bucket, number } = measure.table.times;
  const count = number.reduce((most, one) => Math.max(most, one + 1), 1);
  const seconds = (buckets) => (buckets * bucket) / 1e6;
  const [first, last] = span ?? [0, count - 1];
  const choose = (from, to) => {
    const [least, most] = [Math.min(from, to), Math.max(from, to)].map((one) =>
      Math.max(0, Math.min(count - 1, one)),
    );
    set({ s: least === 0 && most === count - 1 ? null : `${least}-${most}` });
  };
  const cells = [];
  const rows = heatRows(measure, thread, count);
  rows.forEach(([name, values], row) => {
    const most = values.reduce((a, b) => Math.max(a, b), 1);
    values.forEach((value, column) => {
      if (value === 0) return;
      cells.push(
        h('div', {
          class: 'cell',
          title: `${name}, ${seconds(column)}–${seconds(column + 1)} s: ${show(value, measure.unit)}`,
          style: {
            left: `${(100 * column) / count}%`,
            width: `${100 / count}%`,
            top: `${row * HEAT_HEIGHT}px`,
            opacity: (0.15 + (0.85 * value) / most).toFixed(2),
          },
        }),
      );
    });
  });
  if (span)
    cells.push(
      h('div', {
        class: 'span',
        style: { left: `${(100 * first) / count}%`, width: `${(100 * (last + 1 - first)) / count}%` },
      }),
    );
  const at = (event) => {
    const { left, width } = map.getBoundingClientRect();
    return Math.floor(((event.clientX - left) / width) * count);
  };
  let from = null;
  const map = h(
    'div',
    {
      class: 'map',
      style: { height: `${rows.length * HEAT_HEIGHT}px` },
      onpointerdown: (event) => {
        from = at(event);
        map.setPointerCapture(event.pointerId);
        event.preventDefault();
      },
      onpointerup: (event) => {
        if (from != null) choose(from, at(event));
      },
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
  return h(
    'div',
    { class: 'heat', role: 'group', 'aria-label': 'Samples over time' },
    h(
      'div',
      { class: 'settings' },
      field('From second', seconds(first), (value) => choose(value, last)),
      field('to', seconds(last + 1), (value) => choose(first, value - 1)),
      span && h('button', { type: 'button', onclick: () => set({ s: null }) }, 'Whole time'),
    ),
    h(
      'div',
      { class: 'rows' },
      h(
        'ol',
        {},
        rows.map(([name]) => h('li', { title: name }, name)),
      ),
      map,
    ),
  );
}
