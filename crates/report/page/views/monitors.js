// Monitors: where threads waited to enter them.

function monitorsView(page) {
  const times = tableOf('monitors');
  const [blocked, contended] = times.measures;
  const rows = [...times.node.keys()];
  const columns = ({ values, unit, total }, title, help) =>
    valueColumns(title, help, unit, (row) => values.map((values) => values[row]), total);
  const element = table({
    caption: 'Where threads waited to enter monitors',
    columns: [
      ...columns(blocked, 'Blocked', 'time waited to enter the monitor'),
      ...columns(contended, 'Entries', 'how often it had to be waited for'),
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
