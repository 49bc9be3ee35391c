// Which view is shown: the address says it, as #/view/argument?setting=value.

const stacked = measures.length > 0;
const VIEWS = [
  ['overview', 'Overview', overview, true],
  ['methods', 'Methods', methodsView, stacked],
  ['flame', 'Flame graph', flameView, stacked],
  ['tree', 'Call tree', treeView, stacked],
  ['calls', 'Calls', callsView, data.calls.some((calls) => calls.callee.length)],
  ['sites', 'Allocation sites', sitesView, Boolean(tableOf('sites'))],
  ['heap', 'Heap', heapView, data.heaps.some(Boolean)],
  [
    'monitors',
    'Monitors',
    monitorsView,
    Boolean(tableOf('monitors')) || data.monitor_dumps.some((dumps) => dumps.length),
  ],
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

// What a view is told: its argument and settings, how to change them, and addresses that keep those of stacks.
function pageOf(address) {
  const [path, settings = ''] = address.replace(/^#\/?/, '').split('?');
  const [view, argument] = path.split('/');
  const query = Object.fromEntries(new URLSearchParams(settings));
  const { m, t, l, j, s } = query;
  return {
    view: view || 'overview',
    argument,
    query,
    keep: (view, argument) => to(view, argument, { m, t, l, j, s }),
    set: (changes) => location.replace(to(view || 'overview', argument, { ...query, ...changes })),
  };
}

const main = document.getElementById('main');
const search = document.getElementById('search');
let shown = { search: null, view: null };

function route() {
  const page = pageOf(location.hash);
  const listed = VIEWS.find(([name, , , there]) => name === page.view && there);
  const detail = DETAILS[page.view]?.[2] ? DETAILS[page.view] : null;
  const render = listed?.[2] ?? detail?.[1] ?? overview;
  const current = listed?.[0] ?? detail?.[0] ?? 'overview';
  const focused = document.activeElement;
  const label = main.contains(focused) ? focused.closest('.choice, .toggle, .switches')?.textContent : null;

  const view = render(page);
  main.replaceChildren(view);
  document.getElementById('views').replaceChildren(
    ...VIEWS.filter(([, , , there]) => there).map(([name, title]) =>
      h(
        'a',
        {
          href: ['methods', 'flame', 'tree'].includes(name) ? page.keep(name) : to(name),
          'aria-current': name === current ? 'page' : null,
        },
        title,
      ),
    ),
  );
  const heading = view.querySelector('h2')?.textContent ?? '';
  document.title = `${heading} – ${profiles.map((profile) => profile.name).join(' and ')}`;

  const here = `${page.view}/${page.argument ?? ''}`;
  search.disabled = !view.search;
  if (here !== shown.view) {
    search.value = '';
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
  }
  if (search.value && view.search) view.search(search.value.trim());
  shown = { search: view.search, view: here };
}

search.addEventListener('input', () => shown.search?.(search.value.trim()));
search.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') {
    search.value = '';
    shown.search?.('');
  }
});
document.addEventListener('keydown', (event) => {
  if (
    event.key === '/' &&
    !event.ctrlKey &&
    !event.metaKey &&
    !event.altKey &&
    !/^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)
  ) {
    event.preventDefault();
    search.focus();
    search.select();
  }
});

// ---- light and dark ----

const THEMES = { '': 'Theme: as the system', light: 'Theme: light', dark: 'Theme: dark' };
const themeButton = document.getElementById('theme');

// A page in a file may have no storage.
function stored(value) {
  try {
    if (value != null) localStorage.setItem('theme', value);
    return localStorage.getItem('theme') ?? '';
  } catch {
    return value ?? '';
  }
}

function setTheme(theme) {
  const known = theme in THEMES ? theme : '';
  if (known) document.documentElement.dataset.theme = known;
  else delete document.documentElement.dataset.theme;
  themeButton.textContent = THEMES[known];
  themeButton.onclick = () => {
    const names = Object.keys(THEMES);
    setTheme(names[(names.indexOf(known) + 1) % names.length]);
    stored(document.documentElement.dataset.theme ?? '');
  };
}

document.getElementById('title').textContent = profiles.map((profile) => profile.name).join(' → ');
document.querySelector('.skip').addEventListener('click', (event) => {
  event.preventDefault();
  main.focus();
});
setTheme(stored());
window.addEventListener('hashchange', route);
route();
