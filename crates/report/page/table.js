// Tables that can be sorted and searched.

const PAGE_OF_ROWS = 100;

// A column is { title, help, numeric, value(row) to sort by, cell(row) to show }.
//
// `rows` are shown in the order of the column with number `by`; `text(row)` is what is searched. The element's
// `search(query)` shows the rows that contain the query.
function table({ caption, columns, rows, by = 0, descending = true, text, none = 'Nothing here.' }) {
  let matches = null;
  let shown = PAGE_OF_ROWS;
  const body = h('tbody');
  const status = h('p', { class: 'status', role: 'status' });
  const more = h('button', {
    type: 'button',
    class: 'more',
    onclick: () => {
      const first = body.rows.length;
      shown *= 4;
      fill();
      body.rows[first]?.querySelector('a, button')?.focus();
    },
  });

  const heads = columns.map((column, index) =>
    h(
      'th',
      { scope: 'col', class: column.numeric ? 'number' : '', title: column.help },
      h(
        'button',
        {
          type: 'button',
          onclick: () => {
            descending = by === index ? !descending : Boolean(column.numeric);
            by = index;
            fill();
          },
        },
        column.title,
      ),
    ),
  );

  function fill() {
    const found = matches ? rows.filter((row) => matches(text(row))) : rows.slice();
    const value = columns[by].value;
    const sign = descending ? -1 : 1;
    found.sort((a, b) => {
      const [x, y] = [value(a), value(b)];
      return sign * (typeof x === 'string' ? x.localeCompare(y) : x - y);
    });
    heads.forEach((head, index) => {
      if (index === by) head.setAttribute('aria-sort', descending ? 'descending' : 'ascending');
      else head.removeAttribute('aria-sort');
    });
    body.replaceChildren(
      ...found.slice(0, shown).map((row) =>
        h(
          'tr',
          {},
          columns.map((column) =>
            h(
              'td',
              { class: column.numeric ? 'number' : '' },
              column.cell ? column.cell(row) : String(column.value(row)),
            ),
          ),
        ),
      ),
    );
    if (found.length === 0) {
      body.append(
        h('tr', {}, h('td', { class: 'none', colspan: columns.length }, matches ? 'Nothing matches.' : none)),
      );
    }
    status.textContent = matches
      ? `${counted(found.length, 'row')} of ${grouped.format(rows.length)}`
      : counted(rows.length, 'row');
    more.textContent = `Show more of ${counted(found.length, 'row')}`;
    more.hidden = found.length <= shown;
  }
  fill();
  const element = h(
    'div',
    { class: 'table' },
    h(
      'div',
      { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': caption },
      h('table', {}, h('caption', {}, caption), h('thead', {}, h('tr', {}, heads)), body),
    ),
    h('div', { class: 'below' }, status, more),
  );
  element.search = (text) => {
    matches = text ? matcher(text) : null;
    shown = PAGE_OF_ROWS;
    fill();
  };
  return element;
}

// A number with a bar behind it that shows its part of the whole, which is also told in words unless it is to be slim.
function bar(value, whole, unit, slim = false) {
  const share = whole ? Math.min(1, Math.max(0, value / whole)) : 0;
  const part = percent(value, whole);
  return h(
    'span',
    {
      class: slim ? 'bar slim' : 'bar',
      title: `${exactly(value, unit)}, ${part}`,
      style: { '--share': share.toFixed(4) },
    },
    h('span', { class: 'value' }, show(value, unit)),
    !slim && h('span', { class: 'part' }, part),
  );
}

// How much something has changed.
function changed(value, unit) {
  const className = value > 0 ? 'more' : value < 0 ? 'less' : 'same';
  return h('span', { class: `change ${className}`, title: exactly(value, unit) }, showChange(value, unit));
}

// A fact with a value in each profile, and its change when profiles are compared.
const valueFact = (title, values, whole, unit) => [
  title,
  ...values.map((value, profile) => h('td', { class: 'number' }, bar(value, whole[profile], unit))),
  comparing && h('td', { class: 'number' }, changed(change(values), unit)),
];

// The columns of a value: one, or two and the change when profiles are compared. Where there are many values, they
// take less place: only what is after, and the change. `get(row)` is the value in each profile, `whole` that of everything.
function valueColumns(title, help, unit, get, whole, many = false) {
  const column = (profile, title) => ({
    title,
    help,
    numeric: true,
    value: (row) => get(row)[profile],
    cell: (row) => bar(get(row)[profile], whole[profile], unit, many),
  });
  if (!comparing) return [column(AFTER, title)];
  const difference = {
    title: 'Change',
    help: `${title}: how much more after than before`,
    numeric: true,
    value: (row) => change(get(row)),
    cell: (row) => changed(change(get(row)), unit),
  };
  return many
    ? [column(AFTER, title), difference]
    : [column(BEFORE, `${title} before`), column(AFTER, `${title} after`), difference];
}
