// What the profile says, in a few lines, and where to read on.

const ROWS = 6;

// What a profiler would have to be told for what is not in the files: options of HPROF and of `jvmpi record`.
const WANTED = [
  [
    () => tableOf('samples') || tableOf('times'),
    'CPU time',
    'cpu=samples or cpu=times',
    'record --cpu or --calls',
  ],
  [() => tableOf('sites'), 'allocation sites', 'heap=sites', 'record --alloc'],
  [() => data.heaps.some(Boolean), 'the heap’s objects', 'heap=dump', 'record --heap'],
  [() => profiles.some((profile) => profile.monitors), 'monitors', 'monitor=y', 'record --locks'],
];
const recorded = profiles.every((profile) => profile.recording);

function overview() {
  const cpu = [measureOf('cpu-samples'), measureOf('cpu-time')].filter(Boolean);
  const cards = cpu.map(methodsCard);
  if (tableOf('wall')) {
    const wall = busy(measureOf('wall-samples'));
    cards.push(objectsCard(wall, 'Time by thread state', to('flame', null, { m: wall.name })), waitsCard(wall));
  }
  if (tableOf('sites')) cards.push(objectsCard(measureOf('allocated-bytes'), 'Allocated bytes by class', to('sites')));
  if (data.heaps.some(Boolean)) cards.push(heapCard());
  if (tableOf('monitors')) cards.push(objectsCard(measureOf('monitor-time'), 'Blocked on monitors', to('monitors')));
  const missing = WANTED.filter(([there]) => !there());
  return h(
    'div',
    {},
    section(
      comparing ? 'Comparison' : 'Overview',
      h('p', { class: 'summary' }, summary()),
      files(),
      tiles(),
      missing.length > 0 &&
        h(
          'p',
          { class: 'hint' },
          'Not in ',
          comparing ? 'these files' : 'this file',
          ': ',
          missing.map(([, what, ofHprof, ofRecord], index) => [
            index ? '; ' : '',
            what,
            ' (',
            h('code', {}, recorded ? ofRecord : ofHprof),
            ')',
          ]),
          '.',
        ),
    ),
    h('div', { class: 'cards' }, cards),
  );
}

// The profile in a sentence: how much of what, and where most of it is.
function summary() {
  const names = ['cpu-samples', 'cpu-time', 'wall-samples', 'allocated-bytes', 'monitor-time'];
  const measure = names.map(measureOf).find(Boolean);
  if (!measure) return data.heaps.some(Boolean) ? 'This is what the heap holds.' : 'Nothing was measured.';
  const { name, unit, table } = measure;
  // Of elapsed time, what threads ran is what they did.
  const isRunning = (row) => strings[table.object[row]] === '[running]';
  const rows = rowsOf(measure, null).filter((row) => name !== 'wall-samples' || isRunning(row));
  const whole =
    name === 'wall-samples' ? measure.values.map((values) => sum(rows.map((row) => values[row]))) : measure.total;
  const { microseconds } = profiles[AFTER].recording ?? {};
  const amount = unit === 'count' ? `${show(whole[AFTER], unit)} samples` : show(whole[AFTER], unit);
  const inTime = microseconds ? ` in ${show(microseconds, 'microseconds')}` : '';
  const elapsed = `${amount}${inTime}`;
  const beginning = {
    'cpu-samples': unit === 'count' ? `${amount} of CPU were taken` : `Your program used ${amount} of CPU${inTime}`,
    'cpu-time': `The methods of your program took ${amount}`,
    'wall-samples': `The threads of your program were running for ${elapsed}`,
    'allocated-bytes': `Your program allocated ${elapsed}`,
    'monitor-time': `The threads of your program were blocked for ${elapsed}`,
  }[name];
  const ofObject = ['allocated-bytes', 'monitor-time'].includes(name);
  const entries = ofObject ? [...byObject(measure)] : selfRows(measure, rows);
  const size = ([, values]) => (comparing ? Math.abs(change(values)) : values[AFTER]);
  const top = entries.reduce((most, entry) => (most && size(most) >= size(entry) ? most : entry), null);
  const label =
    top &&
    (ofObject
      ? h('code', {}, simple(strings[top[0]]))
      : h('a', { href: to('method', top[0], { m: name }) }, h('code', {}, shortMethodName(top[0]))));
  if (!comparing)
    return [
      beginning,
      top && ['; ', percent(top[1][AFTER], whole[AFTER]), ofObject ? ' for ' : ' in ', label],
      '.',
    ];
  const more = change(whole);
  return [
    `${beginning}, `,
    more === 0 ? 'as much as before' : `${show(Math.abs(more), unit)} ${more > 0 ? 'more' : 'less'} than before`,
    top && size(top) > 0 && ['; most of the change, ', showChange(change(top[1]), unit), ', is in ', label],
    '.',
  ];
}

// The files, each in a line.
function files() {
  return h(
    'ul',
    { class: 'files' },
    profiles.map((profile, index) =>
      h(
        'li',
        {},
        comparing && h('span', { class: 'quiet' }, index === BEFORE ? 'before ' : 'after '),
        h('b', { class: 'line' }, profile.name),
        h(
          'span',
          { class: 'quiet' },
          ` ${profile.created ? `profiled ${time(profile.created)}, ` : ''}${counted(profile.traces, 'stack')} of up to ${counted(profile.depth, 'frame')}`,
        ),
        profile.recording && h('div', { class: 'recording' }, recordingText(profile.recording)),
        profile.problem &&
          h(
            'div',
            { class: 'warning', role: 'note' },
            h('b', {}, 'Not all of it could be read'),
            ` – ${profile.problem}`,
          ),
      ),
    ),
  );
}

// What was profiled, and how.
function recordingText({ command, pid, java, microseconds, interval, alloc_interval }) {
  return [
    command && h('code', {}, command),
    pid && `process ${pid}`,
    java,
    microseconds && `${show(microseconds, 'microseconds')} long`,
    interval && `a sample each ${show(interval, 'microseconds')}`,
    alloc_interval && `allocations estimated from a sample each ${show(alloc_interval, 'bytes')}`,
  ]
    .filter(Boolean)
    .map((part, index) => [index ? ', ' : '', part]);
}

// The wholes, which the views break down.
function tiles() {
  const tile = (title, address, unit, values, said) =>
    h(
      'a',
      { class: 'tile', href: address },
      h('span', { class: 'quiet' }, title),
      h('b', { title: exactly(values[AFTER], unit) }, said ?? show(values[AFTER], unit)),
      comparing &&
        h(
          'span',
          {},
          changed(change(values), unit),
          h('span', { class: 'quiet' }, ` from ${show(values[BEFORE], unit)}`),
        ),
    );
  const views = { sites: 'sites', monitors: 'monitors' };
  // Nothing was found dead: all that was allocated counts as alive.
  const [live, , allocated] = tableOf('sites')?.measures ?? [];
  const isUncollected = live && live.total[AFTER] === allocated.total[AFTER] && !comparing;
  return h(
    'div',
    { class: 'tiles' },
    measures
      .filter((measure) =>
        ['cpu-samples', 'cpu-time', 'wall-samples', 'live-bytes', 'allocated-bytes', 'monitor-time'].includes(measure.name),
      )
      .map((measure) =>
        tile(
          measure.title,
          to(views[measure.table.kind] ?? 'methods', null, { m: measure.name }),
          measure.unit,
          busy(measure).total,
          isUncollected && measure.name === 'live-bytes' ? 'no collection yet' : null,
        ),
      ),
    data.heaps.some(Boolean) && [
      tile('Heap dump', to('heap'), 'bytes', heapWholes('bytes')),
      tile('Objects in it', to('heap', null, { h: 'objects' }), 'count', heapWholes('objects')),
    ],
    data.threads.name.length > 0 &&
      tile(
        'Threads',
        to('threads'),
        'count',
        data.threads.serial.map((serials) => serials.filter(Boolean).length),
      ),
  );
}

// A card with the first rows of a view: [name, value in each profile].
function card(name, address, rows, whole, unit) {
  const title = comparing ? `${name}: largest changes` : name;
  const size = ([, values]) => (comparing ? Math.abs(change(values)) : values[AFTER]);
  const first = rows
    .filter((row) => size(row) > 0)
    .sort((a, b) => size(b) - size(a))
    .slice(0, ROWS);
  return h(
    'section',
    { class: 'card', 'aria-label': title },
    h('h3', {}, h('a', { href: address }, title)),
    first.length === 0 && h('p', { class: 'quiet' }, comparing ? 'No change.' : 'Nothing.'),
    h(
      'table',
      { 'aria-label': title },
      h(
        'tbody',
        {},
        first.map(([name, values]) =>
          h(
            'tr',
            {},
            h('td', {}, name),
            h(
              'td',
              { class: 'number' },
              comparing ? changed(change(values), unit) : bar(values[AFTER], whole[AFTER], unit),
            ),
          ),
        ),
      ),
    ),
  );
}

function methodsCard(measure) {
  const rows = selfRows(measure).map(([method, self]) => [
    h('a', { href: to('method', method, { m: measure.name }) }, methodLabel(method)),
    self,
  ]);
  return card(`${measure.title} of methods`, to('methods', null, { m: measure.name }), rows, measure.total, measure.unit);
}

// Places in the program where threads wait, and what for.
function waitsCard(measure) {
  const { table } = measure;
  const labels = new Map();
  const places = sumBy(measure, rowsOf(measure, null), (row) => {
    const node = table.node[row];
    const state = strings[table.object[row]];
    if (node === 0 || state === '[running]') return null;
    const inner = methodAt(node);
    const reads = /read|accept|poll|select|wait|connect/i.test(strings[methods.name[inner]]);
    if (state === '[native]' && !reads) return null;
    const own = methodAt(outsideOf(JDK, node));
    const what = `${state.slice(1, -1)} in ${shortMethodName(inner)}`;
    labels.set(`${own} ${what}`, [own, what]);
    return `${own} ${what}`;
  });
  const rows = [...places].map(([key, values]) => {
    const [own, what] = labels.get(key);
    const link = h('a', { href: to('method', own, { m: measure.name }) }, methodLabel(own));
    return [h('span', {}, link, h('span', { class: 'quiet' }, ` ${what}`)), values];
  });
  const address = to('flame', null, { m: measure.name, d: 'up' });
  return card('Where threads wait', address, rows, measure.total, measure.unit);
}

// What the rows of a measure are about: classes, monitors or thread states.
function objectsCard(measure, title, address) {
  const rows = [...byObject(measure)].map(([object, values]) => [classLabel(strings[object]), values]);
  return card(title, address, rows, measure.total, measure.unit);
}

// The values of a measure by what its rows are about.
const byObject = (measure) => sumBy(measure, rowsOf(measure, null), (row) => measure.table.object[row]);

function heapCard() {
  const rows = heapClasses().map((row) => [
    h('a', { href: to('class', row.name) }, classLabel(strings[row.name])),
    row.retained,
  ]);
  return card('Retained by class', to('heap'), rows, heapWholes('reached_bytes'), 'bytes');
}
