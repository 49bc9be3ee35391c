// Elements, made so that no text of a profile can become markup.

// An element with properties and children. `on…` properties are listeners, `class` is the class, `style` is an
// object; true and false set and leave out an attribute; children that are null or false are left out.
function h(tag, properties, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else if (name === 'class') element.className = value;
    else if (name === 'style')
      for (const [key, of] of Object.entries(value)) element.style.setProperty(key, of);
    else if (value === true) element.setAttribute(name, '');
    else if (value !== false && value != null) element.setAttribute(name, value);
  }
  element.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return element;
}

// A part of a page that says by its title what it is.
function section(title, ...children) {
  return h('section', { 'aria-label': title }, h('h2', {}, title), ...children);
}

// A table of what is known of one thing: rows of a title and cells.
function facts(rows) {
  const cell = (cell) => (cell instanceof HTMLTableCellElement ? cell : h('td', {}, cell));
  const row = ([title, ...cells]) =>
    h('tr', {}, h('th', { scope: 'row' }, title), cells.filter(Boolean).map(cell));
  return h('table', { class: 'facts' }, h('tbody', {}, rows.filter(Boolean).map(row)));
}

// Gives the focus to an element of a widget, as the only one of them that the key Tab reaches.
function moveFocus(widget, element) {
  if (!element) return;
  widget.querySelector('[tabindex="0"]')?.setAttribute('tabindex', -1);
  element.setAttribute('tabindex', 0);
  element.focus();
}

// Does the action of a key that is pressed without others. Returns true if it has one.
function act(event, actions) {
  if (!actions[event.key] || event.ctrlKey || event.metaKey || event.altKey) return false;
  event.preventDefault();
  actions[event.key]();
  return true;
}

// A list to choose from: entries are [value, text].
function choice(label, entries, chosen, change) {
  const select = h(
    'select',
    { onchange: () => change(select.value) },
    entries.map(([value, text]) => h('option', { value, selected: String(value) === String(chosen) }, text)),
  );
  return h('label', { class: 'choice' }, h('span', {}, label), select);
}

// What is on or off.
function toggle(label, on, change) {
  const box = h('input', { type: 'checkbox', checked: on, onchange: () => change(box.checked) });
  return h('label', { class: 'toggle' }, box, h('span', {}, label));
}

// A group of buttons of which one is pressed: entries are [value, text].
function switches(label, entries, chosen, change) {
  const buttons = entries.map(([value, text]) =>
    h(
      'button',
      {
        type: 'button',
        'aria-pressed': String(value === chosen),
        onclick: () => change(value),
      },
      text,
    ),
  );
  return h('div', { class: 'switches', role: 'group', 'aria-label': label }, buttons);
}
