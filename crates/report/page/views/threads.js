// The threads, and what was measured in each where stacks are kept by thread.

function threadsView(page) {
  const { threads } = data;
  const kept = measures.filter(
    (measure) =>
      measure.table.thread.some((thread) => thread >= 0) &&
      ['cpu-samples', 'cpu-time', 'wall-samples', 'allocated-bytes', 'monitor-time'].includes(measure.name),
  );
  const values = kept.map((measure) =>
    sumBy(measure, measure.table.thread.keys(), (row) => measure.table.thread[row]),
  );
  const present = (thread) =>
    profiles
      .flatMap((_, profile) =>
        threads.serial[profile][thread]
          ? `${comparing ? (profile === BEFORE ? 'before: ' : 'after: ') : ''}${threads.ended[profile][thread] ? 'ended' : 'alive'}`
          : [],
      )
      .join(', ');
  const numbers = (thread) => threads.serial.map((serials) => serials[thread] || '–').join(' / ');
  const element = table({
    caption: 'Threads',
    by: kept.length ? 0 : comparing ? 1 : 0,
    descending: kept.length > 0,
    rows: [...threads.name.keys()],
    text: (thread) => `${threadName(thread)} ${strings[threads.group[thread]]}`,
    columns: [
      ...kept.flatMap(({ title, unit, total }, place) =>
        valueColumns(title, '', unit, (thread) => values[place].get(thread) ?? zeros(), total),
      ),
      { title: 'Number', numeric: true, value: (thread) => threads.serial[AFTER][thread], cell: numbers },
      {
        title: 'Thread',
        value: threadName,
        cell: (thread) =>
          kept.length
            ? h('a', { href: to('tree', null, { m: kept[0].name, t: thread }) }, threadName(thread))
            : threadName(thread),
      },
      { title: 'Group', value: (thread) => strings[threads.group[thread]] },
      { title: 'State', help: 'at the end of the file', value: present },
    ],
  });
  const shown = section(
    'Threads',
    kept.length === 0 &&
      measures.length > 0 &&
      h(
        'p',
        { class: 'hint' },
        'Stacks are not kept by thread in ',
        comparing ? 'these files' : 'this file',
        ' (the profiler’s option ',
        h('code', {}, 'thread=y'),
        ').',
      ),
    element,
  );
  return Object.assign(shown, { search: element.search });
}
