// Tables whose rows open: trees, worked by the arrow keys as in file managers.

const CHILDREN_AT_ONCE = 50;

// An entry has `hasChildren` and `children()`. The last column of `columns` is the one that is indented. Entries
// below each other are opened at once as long as `open(entry, parent)` holds for the first. `menu(entry)` returns the
// title and the actions of a menu.
function treeTable({ caption, columns, entries, open = () => false, menu = null, none = 'Nothing here.' }) {
  const body = h('tbody');
  const rows = new WeakMap();

  const level = (row) => rows.get(row).level;

  function rowOf(entry, level, position, count) {
    const indented = columns.length - 1;
    const row = h(
      'tr',
      {
        role: 'row',
        tabindex: -1,
        'aria-level': level,
        'aria-posinset': position,
        'aria-setsize': count,
        'aria-expanded': entry.hasChildren ? 'false' : null,
      },
      columns.map((column, index) =>
        index < indented
          ? h('td', { role: 'gridcell', class: column.numeric ? 'number' : '' }, column.cell(entry))
          : h(
              'td',
              { role: 'gridcell', class: 'tree', style: { '--level': level - 1 } },
              h('span', { class: 'twist', 'aria-hidden': 'true', onclick: () => flip(row) }),
              column.cell(entry),
            ),
      ),
    );
    rows.set(row, { entry, level });
    return row;
  }

  // Rows for entries, the first of them, and one that asks for the rest.
  function rowsOf(entries, level, from = 0) {
    const some = entries.slice(from, from + CHILDREN_AT_ONCE);
    const made = some.map((entry, index) => rowOf(entry, level, from + index + 1, entries.length));
    const rest = entries.length - from - some.length;
    if (rest > 0) {
      const row = h(
        'tr',
        { role: 'row', class: 'rest', tabindex: -1, 'aria-level': level },
        columns.slice(1).map(() => h('td', { role: 'gridcell' })),
        h(
          'td',
          { role: 'gridcell', class: 'tree', style: { '--level': level - 1 } },
          h(
            'button',
            { type: 'button', tabindex: -1, onclick: () => flip(row) },
            `${grouped.format(rest)} more`,
          ),
        ),
      );
      rows.set(row, { level, rest: () => rowsOf(entries, level, from + some.length) });
      made.push(row);
    }
    return made;
  }

  function expand(row) {
    const { entry, level, rest } = rows.get(row);
    if (rest) {
      const made = rest();
      row.replaceWith(...made);
      focus(made[0]);
    } else if (row.getAttribute('aria-expanded') === 'false') {
      row.setAttribute('aria-expanded', 'true');
      row.after(...rowsOf(entry.children(), level + 1));
    }
  }

  function collapse(row) {
    row.setAttribute('aria-expanded', 'false');
    while (row.nextElementSibling && level(row.nextElementSibling) > level(row))
      row.nextElementSibling.remove();
  }

  function flip(row) {
    if (row.getAttribute('aria-expanded') === 'true') collapse(row);
    else expand(row);
  }

  const focus = (row) => moveFocus(body, row);

  body.addEventListener('keydown', (event) => {
    const row = event.target.closest('tr');
    const all = [...body.rows];
    const at = all.indexOf(row);
    const keys = {
      ArrowDown: () => focus(all[at + 1]),
      ArrowUp: () => focus(all[at - 1]),
      Home: () => focus(all[0]),
      End: () => focus(all.at(-1)),
      ArrowRight: () => (row.getAttribute('aria-expanded') === 'true' ? focus(all[at + 1]) : expand(row)),
      ArrowLeft: () =>
        row.getAttribute('aria-expanded') === 'true'
          ? collapse(row)
          : focus(all.slice(0, at).findLast((other) => level(other) < level(row))),
      ' ': () => flip(row),
      m: () => showMenu(event),
    };
    if (event.target === row) keys.Enter = () => (row.querySelector('a') ?? row.querySelector('button'))?.click();
    act(event, keys);
  });
  function showMenu(event) {
    const row = event.target.closest('tr');
    const { entry } = rows.get(row) ?? {};
    if (!menu || !entry) return;
    event.preventDefault();
    focus(row);
    const { clientX, clientY } = event;
    openMenu(...menu(entry), { clientX, clientY, target: row.lastElementChild });
  }
  body.addEventListener('contextmenu', showMenu);
  body.addEventListener('focusin', (event) => {
    const row = event.target.closest('tr');
    if (row.getAttribute('tabindex') !== '0') {
      body.querySelector('tr[tabindex="0"]')?.setAttribute('tabindex', -1);
      row.setAttribute('tabindex', 0);
    }
  });

  body.append(...rowsOf(entries, 1));
  if (entries.length === 0) body.append(h('tr', {}, h('td', { class: 'none', colspan: columns.length }, none)));
  body.rows[0]?.setAttribute('tabindex', 0);
  // What matters most is open from the start.
  for (
    let row = body.rows[0], above = null;
    row && rows.get(row)?.entry && open(rows.get(row).entry, above);
    row = row.nextElementSibling
  ) {
    above = rows.get(row).entry;
    if (!above.hasChildren) break;
    expand(row);
  }

  const heads = columns.map((column) =>
    h(
      'th',
      { scope: 'col', role: 'columnheader', class: column.numeric ? 'number' : '', title: column.help },
      column.title,
    ),
  );
  const element = h(
    'div',
    { class: 'table' },
    h(
      'div',
      { class: 'scroll' },
      h(
        'table',
        { role: 'treegrid', 'aria-label': caption },
        h('thead', {}, h('tr', { role: 'row' }, heads)),
        body,
      ),
    ),
  );
  // Rows that match are marked: a tree without what leads to them would tell nothing.
  element.search = (query) => {
    const matches = matcher(query);
    for (const row of body.rows) row.classList.toggle('match', Boolean(query) && matches(row.textContent));
  };
  element.step = (direction) => {
    const all = [...body.querySelectorAll('.match')];
    const last = all.indexOf(body.querySelector('tr[tabindex="0"]'));
    focus(all.at(last < 0 && direction < 0 ? -1 : (last + direction) % all.length));
  };
  return element;
}
