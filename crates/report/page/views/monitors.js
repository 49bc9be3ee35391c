// Monitors: where threads waited to enter them, and who held them at the moments of the dumps.

function monitorsView(page) {
  const times = tableOf('monitors');
  const searched = [];
  const add = (element) => {
    searched.push(element);
    return element;
  };
  const view = h(
    'div',
    {},
    times &&
      section(
        'Monitor contention',
        add(contentionTable(page, times)),
        h('p', {}, h('a', { href: to('flame', null, { m: 'monitor-time' }) }, 'As flame graph')),
      ),
    data.monitor_dumps.map((dumps, profile) =>
      dumps.map((dump, index) => {
        const of = [
          dumps.length > 1 ? ` ${index + 1}` : '',
          comparing ? ` – ${profiles[profile].name}` : '',
        ].join('');
        return section(
          `Monitor dump${of}`,
          deadlock(dump),
          add(monitorTable(dump)),
          section(`Threads${of}`, add(statusTable(page, dump))),
        );
      }),
    ),
  );
  view.search = (query) => searched.forEach((element) => element.search(query));
  return view;
}

function contentionTable(page, times) {
  const [blocked, contended] = times.measures;
  const rows = [...times.node.keys()];
  const values = (measure) => (row) => measure.values.map((values) => values[row]);
  return table({
    caption: 'Where threads waited to enter monitors',
    columns: [
      ...valueColumns(
        'Blocked',
        'time waited to enter the monitor',
        'microseconds',
        values(blocked),
        blocked.total,
      ),
      ...valueColumns(
        'Entries',
        'how often it had to be waited for',
        'count',
        values(contended),
        contended.total,
      ),
      {
        title: 'Monitor',
        value: (row) => strings[times.object[row]],
        cell: (row) => classLabel(strings[times.object[row]]),
      },
      threadsOf({ table: times }).length > 0 && {
        title: 'Thread',
        value: (row) => threadName(times.thread[row]),
      },
      {
        title: 'Entered at',
        value: (row) => stackText(times.node[row]),
        cell: (row) => stackLink(page, times.node[row], outsideOf(LOCKING, times.node[row])),
      },
    ].filter(Boolean),
    rows,
    text: (row) =>
      `${strings[times.object[row]]} ${threadName(times.thread[row])} ${stackText(times.node[row])}`,
  });
}

// The threads that wait for each other in a circle, if there are any.
function circle(dump) {
  const ownerOf = new Map();
  for (const monitor of dump.monitors) {
    for (const thread of monitor.entering)
      if (monitor.owner != null && monitor.owner >= 0) ownerOf.set(thread, { owner: monitor.owner, monitor });
  }
  for (const start of ownerOf.keys()) {
    const way = [];
    for (let thread = start; ownerOf.has(thread); thread = ownerOf.get(thread).owner) {
      if (way.length && thread === start) return way;
      if (way.some((step) => step.thread === thread)) break;
      way.push({ thread, ...ownerOf.get(thread) });
    }
  }
  return [];
}

function deadlock(dump) {
  const way = circle(dump);
  return (
    way.length > 0 &&
    h(
      'div',
      { class: 'warning', role: 'note' },
      h('b', {}, 'Deadlock'),
      h(
        'ul',
        {},
        way.map(({ thread, owner, monitor }) =>
          h('li', {}, `${threadName(thread)} waits for ${monitor.name}, which ${threadName(owner)} holds`),
        ),
      ),
    )
  );
}

function monitorTable(dump) {
  const names = (threads) => threads.map(threadName).join(', ');
  return table({
    caption: 'Monitors',
    by: 2,
    rows: dump.monitors,
    none: 'No monitor was in use.',
    text: (monitor) =>
      `${monitor.name} ${monitor.owner == null ? '' : threadName(monitor.owner)} ${names(monitor.entering)} ${names(monitor.waiting)}`,
    columns: [
      { title: 'Monitor', value: (monitor) => monitor.name, cell: (monitor) => classLabel(monitor.name) },
      {
        title: 'Owner',
        value: (monitor) => (monitor.owner == null ? '' : threadName(monitor.owner)),
        cell: (monitor) =>
          monitor.owner == null
            ? h('span', { class: 'quiet' }, 'none')
            : `${threadName(monitor.owner)}${monitor.entries > 1 ? ` (entered ${monitor.entries} times)` : ''}`,
      },
      {
        title: 'Wait to enter',
        value: (monitor) => monitor.entering.length,
        cell: (monitor) => names(monitor.entering),
      },
      {
        title: 'Wait to be notified',
        value: (monitor) => monitor.waiting.length,
        cell: (monitor) => names(monitor.waiting),
      },
    ],
  });
}

function statusTable(page, dump) {
  return table({
    caption: 'Threads at the moment of the dump',
    by: 1,
    descending: false,
    rows: dump.threads,
    none: 'No thread is told.',
    text: (status) => `${threadName(status.thread)} ${status.state} ${stackText(status.node)}`,
    columns: [
      { title: 'Thread', value: (status) => threadName(status.thread) },
      {
        title: 'State',
        value: (status) =>
          [status.state, status.suspended && 'suspended', status.interrupted && 'interrupted']
            .filter(Boolean)
            .join(', '),
      },
      {
        title: 'At',
        value: (status) => stackText(status.node),
        cell: (status) => stackLink(page, status.node),
      },
    ],
  });
}
