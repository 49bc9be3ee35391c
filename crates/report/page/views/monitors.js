// Monitors: where threads waited to enter them.

function monitorsView(page) {
  const times = tableOf('monitors');
  const [blocked, contended] = times.measures;
  const rows = [...times.node.keys()];
  const values = (measure) => (row) => measure.values.map((values) => values[row]);
  const element = table({
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
  const shown = section(
    'Monitor contention',
    element,
    h('p', {}, h('a', { href: to('flame', null, { m: 'monitor-time' }) }, 'As flame graph')),
  );
  return Object.assign(shown, { search: element.search });
}
