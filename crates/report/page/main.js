// Which view is shown: the address says it, as #/view/argument?setting=value.

const stacked = measures.length > 0;
const VIEWS = [
  ['overview', 'Overview', overview, true],
  ['methods', 'Methods', methodsView, stacked],
  ['flame', 'Flame graph', flameView, stacked],
  ['tree', 'Call tree', treeView, stacked],
  ['time', 'Time', timeView, measures.some((measure) => measure.table.times)],
  ['sites', 'Allocation sites', sitesView, Boolean(tableOf('sites'))],
  ['heap', 'Heap', heapView, data.heaps.some(Boolean)],
  ['monitors', 'Monitors', monitorsView, Boolean(tableOf('monitors'))],
  ['threads', 'Threads', threadsView, data.threads.name.length > 0],
];
// Views of one thing, and the view among whose things it is.
const DETAILS = {
  method: ['methods', methodView, stacked],
  stack: ['methods', stackView, true],
  class: ['heap', classView, data.heaps.some(Boolean)],
  object: ['heap', objectView, data.heaps.some(Boolean)],
};

// The address of a view.
function to(view, argument, query = {}) {
  const settings = new URLSearchParams(Object.entries(query).filter(([, value]) => value != null)).toString();
  return `#/${view}${argument == null ? '' : `/${argument}`}${settings ? `?${settings}` : ''}`;
}

// The number in an address if one of the lists has it; null if none has, as in an address of another page.
function known(text, ...lists) {
  const isKnown = /^\d+$/.test(text ?? '') && lists.some((list) => list.includes(Number(text)));
  return isKnown ? Number(text) : null;
}

const queryOf = (address) => Object.fromEntries(new URLSearchParams(address.split('?')[1] ?? ''));

// What a view is told: its argument and settings, addresses with other settings, and addresses of other views that
// keep those of stacks.
function pageOf(address) {
  const [view = 'overview', argument] = address.replace(/^#|\?.*/g, '').split('/').filter(Boolean);
  const query = queryOf(address);
  const { m, t, l, j, s, v, d, f, x, c, i } = query;
  // Some settings are changed while a view stays.
  const changed = (changes) => to(view, argument, { ...queryOf(location.hash), ...changes });
  return {
    view,
    argument,
    query,
    keep: (view, argument, changes) => to(view, argument, { m, t, l, j, s, v, d, f, x, c, i, ...changes }),
    address: changed,
    set: (changes) => location.replace(changed(changes)),
  };
}

const main = document.getElementById('main');
const search = document.getElementById('search');
const found = document.getElementById('found');
const steps = [...document.querySelectorAll('[data-step]')];
// The view that is shown, its address, and the address without what a view can change in place.
let shown = { element: {}, view: null, fixed: null };

// Shows what the view finds.
function find() {
  const { element } = shown;
  const text = search.value.trim();
  search.disabled = !element.search;
  found.textContent = (element.search?.(text) ?? '') || '';
  for (const button of steps) button.disabled = !text || !element.step;
}

function route() {
  const page = pageOf(location.hash);
  const fixed = page.address({ q: null, z: null, y: null });
  const isKept = fixed === shown.fixed && shown.element.update;
  if (document.activeElement !== search) search.value = page.query.q ?? '';
  if (isKept) {
    shown.element.update(page);
    return find();
  }
  const listed = VIEWS.find(([name, , , there]) => name === page.view && there);
  const detail = DETAILS[page.view]?.[2] ? DETAILS[page.view] : null;
  const render = listed?.[2] ?? detail?.[1] ?? overview;
  const current = listed?.[0] ?? detail?.[0] ?? 'overview';
  const focused = document.activeElement;
  const label = main.contains(focused) ? focused.closest('.choice, .toggle, .switches')?.textContent : null;
  const inGraph = Boolean(focused.closest?.('.flame'));

  const view = render(page);
  showTip(null, null);
  main.replaceChildren(view);
  document.getElementById('views').replaceChildren(
    ...VIEWS.filter(([, , , there]) => there).map(([name, title]) =>
      h(
        'a',
        {
          href: ['methods', 'flame', 'tree', 'time'].includes(name) ? page.keep(name) : to(name),
          'aria-current': name === current ? 'page' : null,
        },
        title,
      ),
    ),
  );
  const heading = view.querySelector('h2')?.textContent ?? '';
  document.title = `${heading} – ${profiles.map((profile) => profile.name).join(' and ')}`;

  const here = `${page.view}/${page.argument ?? ''}`;
  if (here !== shown.view) {
    if (shown.view != null) {
      window.scrollTo(0, 0);
      main.focus({ preventScroll: true });
    }
  } else if (label != null) {
    // A setting was changed: who works by keys goes on from there.
    const control = [...main.querySelectorAll('.choice, .toggle, .switches')].find(
      (other) => other.textContent === label,
    );
    (control?.querySelector('[aria-pressed="true"]') ?? control?.querySelector('select, input'))?.focus();
  } else if (inGraph) main.querySelector('.frame[tabindex="0"]')?.focus();
  shown = { element: view, view: here, fixed };
  find();
}

// What is searched is in the address, without a step back for each letter.
function searchFor(text) {
  search.value = text;
  history.replaceState(null, '', pageOf(location.hash).address({ q: text.trim() || null }));
  find();
}

search.addEventListener('input', () => searchFor(search.value));
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') searchFor('');
  if (event.key === 'Enter') shown.element.step?.(event.shiftKey ? -1 : 1);
});
for (const button of steps)
  button.addEventListener('click', () => shown.element.step?.(Number(button.dataset.step)));
document.addEventListener('keydown', (event) => {
  if (/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
  act(event, {
    '/': () => {
      search.focus();
      search.select();
    },
  });
});

document.getElementById('title').textContent = profiles.map((profile) => profile.name).join(' → ');
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
window.addEventListener('hashchange', route);
route();
