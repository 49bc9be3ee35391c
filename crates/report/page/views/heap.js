// The heap: its classes, the objects that retain most, and how they are reached.

// The classes of all heaps, by name.
function heapClasses() {
  const found = new Map();
  data.heaps.forEach((heap, profile) =>
    heap?.classes.name.forEach((name, row) => {
      if (!found.has(name)) found.set(name, { name, objects: zeros(), shallow: zeros(), retained: zeros() });
      const entry = found.get(name);
      entry.objects[profile] = heap.classes.objects[row];
      entry.shallow[profile] = heap.classes.shallow[row];
      entry.retained[profile] = heap.classes.retained[row];
    }),
  );
  return [...found.values()];
}

function heapView(page) {
  const element =
    page.query.h === 'objects'
      ? dominatorsOf(page, heapOf(page), -1, 'Largest objects, and what they keep')
      : classTable();
  const facts = data.heaps.map(
    (heap, profile) =>
      heap &&
      h(
        'p',
        { class: 'hint' },
        comparing && h('b', {}, `${profiles[profile].name}: `),
        `${counted(heap.objects, 'object')}, ${show(heap.bytes, 'bytes')}; `,
        `${counted(heap.roots, 'root')} keep ${counted(heap.reached, 'object')} with ${show(heap.reached_bytes, 'bytes')}`,
        heap.objects > heap.reached &&
          `; ${counted(heap.objects - heap.reached, 'object')} with ${show(heap.bytes - heap.reached_bytes, 'bytes')} would be freed or are weakly reachable`,
        heap.missing > 0 &&
          `; ${counted(heap.missing, 'reference')} lead to objects that the dump does not have`,
        '.',
      ),
  );
  const shown = section(
    'Heap',
    facts,
    h(
      'div',
      { class: 'tools' },
      switches(
        'Rows',
        [
          ['classes', 'Classes'],
          ['objects', 'Largest objects'],
        ],
        page.query.h === 'objects' ? 'objects' : 'classes',
        (h) => page.set({ h: h === 'objects' ? h : null }),
      ),
      page.query.h === 'objects' && whichHeap(page),
    ),
    element,
  );
  return Object.assign(shown, { search: element.search });
}

// For each profile, a number of its heap.
const heapWholes = (name) => data.heaps.map((heap) => heap?.[name] ?? 0);

const RETAINED = 'bytes that would be freed with it: itself, and what is reached only through it';

function classTable() {
  const numbers = [
    ['Retained', 'bytes that would be freed with all objects of the class', 'bytes', 'retained', 'reached_bytes'],
    ['Shallow', 'bytes of the objects themselves', 'bytes', 'shallow', 'bytes'],
    ['Objects', 'how many there are', 'count', 'objects', 'objects'],
  ];
  return table({
    caption: 'Classes of the heap',
    columns: [
      ...numbers.flatMap(([title, help, unit, of, whole]) =>
        valueColumns(title, help, unit, (row) => row[of], heapWholes(whole), comparing),
      ),
      {
        title: 'Class',
        value: (row) => strings[row.name],
        cell: (row) => h('a', { href: to('class', row.name) }, classLabel(strings[row.name])),
      },
    ],
    rows: heapClasses(),
    by: comparing ? 1 : 0,
    text: (row) => strings[row.name],
  });
}

// Which profile's heap is shown, where single objects are.
function heapOf(page) {
  const asked = page.query.p == null ? -1 : Number(page.query.p);
  return data.heaps[asked] ? asked : data.heaps.findLastIndex(Boolean);
}

function whichHeap(page) {
  const entries = profiles
    .map((profile, index) => [index, profile.name])
    .filter(([index]) => data.heaps[index]);
  return entries.length > 1 && choice('File', entries, heapOf(page), (p) => page.set({ p }));
}

function objectName(heap, object) {
  const { shown, classes } = heap;
  if (shown.name[object] >= 0) return h('span', {}, 'class ', classLabel(strings[shown.name[object]]));
  return h(
    'span',
    {},
    classLabel(strings[classes.name[shown.class[object]]]),
    h('span', { class: 'line' }, ` @${shown.id[object]}`),
  );
}

function objectLink(page, profile, object) {
  return h(
    'a',
    { href: to('object', object, comparing ? { p: profile } : {}) },
    objectName(data.heaps[profile], object),
  );
}

// What an object dominates: objects of the tree, and for each class the number of those that are left out.
function dominatedBy(heap, dominator) {
  const { shown } = heap;
  const entries = [];
  shown.dominator.forEach((of, object) => {
    if (of === dominator)
      entries.push({
        object,
        retained: shown.retained[object],
        shallow: shown.size[object],
        hasChildren: shown.dominated[object] > 0,
        children: () => dominatedBy(heap, object),
      });
  });
  const rest = dominator < 0 ? heap.rest : shown.rest[dominator];
  for (const [row, objects, retained] of rest) entries.push({ row, objects, retained, hasChildren: false });
  return entries;
}

function dominatorsOf(page, profile, dominator, caption) {
  const heap = data.heaps[profile];
  const whole = heap.reached_bytes;
  return treeTable({
    caption,
    columns: [
      {
        title: 'Retained',
        help: RETAINED,
        numeric: true,
        cell: (entry) => bar(entry.retained, whole, 'bytes'),
      },
      {
        title: 'Shallow',
        help: 'bytes of the object itself',
        numeric: true,
        cell: (entry) => (entry.shallow == null ? '' : show(entry.shallow, 'bytes')),
      },
      {
        title: 'Object',
        cell: (entry) =>
          entry.object == null
            ? h(
                'span',
                { class: 'quiet' },
                `${grouped.format(entry.objects)} more of `,
                classLabel(strings[heap.classes.name[entry.row]]),
              )
            : objectLink(page, profile, entry.object),
      },
    ],
    entries: dominatedBy(heap, dominator),
    open: (entry, above) =>
      entry.object != null && above != null && entry.retained > 0.5 * above.retained,
  });
}

function classView(page) {
  const name = Number(page.argument);
  const row = heapClasses().find((row) => row.name === name);
  if (!row) return nothing('The heap has no such class.');
  const sites = tableOf('sites')?.object.includes(name);
  return h(
    'section',
    { 'aria-label': strings[name] },
    h('h2', {}, classLabel(strings[name])),
    facts([
      valueFact('retained', row.retained, heapWholes('reached_bytes'), 'bytes'),
      valueFact('shallow', row.shallow, heapWholes('bytes'), 'bytes'),
      valueFact('objects', row.objects, heapWholes('objects'), 'count'),
    ]),
    sites && h('p', {}, h('a', { href: to('sites', null, { c: name }) }, 'Where its objects were allocated')),
    data.heaps.map((heap, profile) => heap && classOfHeap(page, profile, heap.classes.name.indexOf(name))),
  );
}

// What one heap has of a class: who refers to it, and its largest objects with the paths that keep them.
function classOfHeap(page, profile, row) {
  if (row < 0) return null;
  const { classes, shown } = data.heaps[profile];
  const of = comparing ? ` – ${profiles[profile].name}` : '';
  return [
    classes.referrers[row].length > 0 &&
      section(
        `Referred to by${of}`,
        table({
          caption: 'Fields that refer to objects of the class',
          rows: classes.referrers[row],
          text: () => '',
          columns: [
            {
              title: 'References',
              numeric: true,
              value: (referrer) => referrer[3],
              cell: (referrer) => grouped.format(referrer[3]),
            },
            {
              title: 'Field',
              value: (referrer) => fieldOf(classes, referrer).join(''),
              cell: (referrer) => {
                const [name, field, known] = fieldOf(classes, referrer);
                return h(
                  'span',
                  {},
                  known ? h('a', { href: to('class', known) }, classLabel(name)) : classLabel(name),
                  h('span', { class: 'field' }, field),
                );
              },
            },
          ],
        }),
      ),
    classes.largest[row].length > 0 &&
      section(
        `Largest objects${of}`,
        classes.largest[row].map((object, index) =>
          h(
            'details',
            { open: index === 0 },
            h(
              'summary',
              {},
              objectName(data.heaps[profile], object),
              ` retains ${show(shown.retained[object], 'bytes')}`,
            ),
            pathList(page, profile, object),
          ),
        ),
      ),
  ];
}

// The class whose field refers, the field, and the class's number if the heap has objects of it.
function fieldOf(classes, [row, itself, label]) {
  const name = itself >= 0 ? itself : classes.name[row];
  return [strings[name], fieldText(strings[label]), classes.name.includes(name) && name];
}

const fieldText = (field) => (field.startsWith('[') || field.startsWith('<') ? field : `.${field}`);

// Of a long path, so many objects are shown at its two ends.
const FIRST = 8;
const LAST = 24;

// The way from a root to an object, as it stands in the data: from the object on.
function pathTo(shown, object) {
  const steps = [];
  for (let at = object; at >= 0; at = shown.before[at])
    steps.unshift({ object: at, field: shown.by[at], leftOut: shown.left_out[at] });
  if (steps.length > FIRST + LAST) {
    const middle = steps.splice(FIRST, steps.length - FIRST - LAST);
    steps[FIRST] = {
      ...steps[FIRST],
      field: -1,
      leftOut: steps[FIRST].leftOut + sum(middle.map((step) => 1 + step.leftOut)),
    };
  }
  return steps;
}

function pathList(page, profile, object) {
  const heap = data.heaps[profile];
  const steps = pathTo(heap.shown, object);
  const [reason, thread] = heap.shown.roots[steps[0].object];
  return h(
    'ol',
    { class: 'path', 'aria-label': 'Path from a root' },
    h('li', { class: 'root' }, `root: ${reason}`, thread >= 0 && ` of thread “${threadName(thread)}”`),
    steps.map((step) => [
      step.leftOut > 0 && h('li', { class: 'quiet' }, `… ${counted(step.leftOut, 'object')} left out …`),
      h(
        'li',
        {},
        step.field >= 0 && h('span', { class: 'field' }, `${fieldText(strings[step.field])} `),
        step.object === object
          ? h('b', {}, objectLink(page, profile, object))
          : objectLink(page, profile, step.object),
        h('span', { class: 'quiet' }, ` retains ${show(heap.shown.retained[step.object], 'bytes')}`),
      ),
    ]),
  );
}

function objectView(page) {
  const object = Number(page.argument);
  const profile = heapOf(page);
  const heap = data.heaps[profile];
  if (!(object in (heap?.shown.id ?? []))) return nothing('There is no such object in this report.');
  const { shown, classes } = heap;
  const inTree = object < shown.dominator.length;
  const name = classes.name[shown.class[object]];
  return h(
    'section',
    { 'aria-label': 'Object' },
    h('h2', {}, objectName(heap, object)),
    facts([
      ['class', h('a', { href: to('class', name) }, classLabel(strings[name]))],
      comparing && ['file', profiles[profile].name],
      ['retained', bar(shown.retained[object], heap.reached_bytes, 'bytes')],
      ['shallow', show(shown.size[object], 'bytes')],
      ['dominates', counted(shown.dominated[object], 'object')],
      inTree &&
        shown.dominator[object] >= 0 && ['dominated by', objectLink(page, profile, shown.dominator[object])],
    ]),
    section(
      'Path from a root',
      h('p', { class: 'hint' }, 'The shortest way by which the object is kept.'),
      pathList(page, profile, object),
    ),
    inTree &&
      shown.dominated[object] > 0 &&
      section('Keeps', dominatorsOf(page, profile, object, 'What is reached only through the object')),
  );
}
