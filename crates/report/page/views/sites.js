// Allocation sites: which objects were allocated where.

function sitesView(page) {
  const sites = tableOf('sites');
  const [liveBytes, liveObjects, bytes, objects] = sites.measures;
  const byClass = page.query.g === 'class';
  const only = known(page.query.c, sites.object);
  const { node, object } = sites;
  const shownRows = [...node.keys()].filter((row) => only == null || object[row] === only);
  // Stacks may be kept by thread.
  const kind = byClass ? (row) => object[row] : (row) => `${node[row]}/${object[row]}`;
  const rows = [...Map.groupBy(shownRows, kind).values()].map((group) => ({
    node: node[group[0]],
    object: object[group[0]],
    sites: new Set(group.map((row) => node[row])).size,
    values: sites.measures.map(({ values }) => values.map((values) => sum(group.map((row) => values[row])))),
  }));
  const columns = (measure, index, title, help) =>
    valueColumns(title, help, measure.unit, (row) => row.values[index], measure.total, true);
  const element = table({
    caption: byClass ? 'Allocated classes' : 'Allocation sites',
    columns: [
      ...columns(liveBytes, 0, 'Live bytes', 'of objects that were not freed'),
      ...columns(liveObjects, 1, 'Live objects', 'objects that were not freed'),
      ...columns(bytes, 2, 'Allocated bytes', 'of all objects'),
      ...columns(objects, 3, 'Allocated objects', 'all objects'),
      { title: 'Class', value: (row) => strings[row.object], cell: (row) => classOfSite(page, row.object) },
      byClass
        ? {
            title: 'Sites',
            numeric: true,
            value: (row) => row.sites,
            cell: (row) => h('a', { href: to('sites', null, { c: row.object }) }, grouped.format(row.sites)),
          }
        : {
            title: 'Allocated at',
            value: (row) => stackText(row.node),
            cell: (row) => stackLink(page, row.node),
          },
    ],
    rows,
    by: (comparing ? 1 : 0) + (recorded ? 2 * columns(bytes, 2, '', '').length : 0),
    text: (row) => `${strings[row.object]} ${byClass ? '' : stackText(row.node)}`,
  });
  const shown = section(
    'Allocation sites',
    h(
      'div',
      { class: 'tools' },
      switches(
        'Rows',
        [
          ['site', 'Sites'],
          ['class', 'Classes'],
        ],
        byClass ? 'class' : 'site',
        (g) => page.set({ g: g === 'class' ? g : null, c: null }),
      ),
      only != null &&
        h('p', {}, 'Only ', classLabel(strings[only]), ' ', h('a', { href: to('sites') }, 'Show all')),
      h('a', { href: to('flame', null, { m: 'allocated-bytes' }) }, 'As flame graph'),
    ),
    notes({ measure: { ...bytes, table: sites }, thread: null, whole: bytes.total }),
    element,
  );
  return Object.assign(shown, { search: element.search });
}

function classOfSite(page, object) {
  const known = data.heaps.some((heap) => heap?.classes.name.includes(object));
  return known
    ? h('a', { href: to('class', object) }, classLabel(strings[object]))
    : classLabel(strings[object]);
}
