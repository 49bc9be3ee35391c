// What can be done with a frame: as a menu, and by the key of each action.

// The actions for what has this key: [title, key, address or function].
function frameActions(page, tree, key) {
  const method = methodOfKey(tree, key);
  if (method == null) return [];
  const { focus, hidden, collapse } = chosen(page.query);
  return [
    ['Callers and callees', 'g', page.keep('method', method)],
    focus === method
      ? ['End the focus', 'f', page.address({ f: null, z: null })]
      : ['Focus on it', 'f', page.address({ f: method, z: null })],
    ['Hide it', 'h', page.address({ x: [...hidden, method].join('.'), z: null })],
    [collapse ? 'Show recursion' : 'Collapse recursion', 'r', page.address({ c: collapse ? null : '1', z: null })],
    ['Copy its name', 'c', () => copyText(methodName(method))],
  ];
}

// Does the action; an address is gone to, so that Back takes it back.
function perform([, , action]) {
  if (typeof action === 'string') location.hash = action;
  else action();
}

function copyText(text) {
  const area = h('textarea', { class: 'skip', 'aria-hidden': 'true' });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  // The clipboard of the newer interface needs a permission, which a page in a file may lack.
  document.execCommand('copy');
  area.remove();
  focused?.focus();
  found.textContent = 'Copied.';
}

// Opens a menu at a place of the window, or below an element; closing gives the focus back.
function openMenu(title, actions, { clientX, clientY, target }) {
  document.querySelector('.menu')?.remove();
  if (actions.length === 0) return;
  const back = document.activeElement;
  const close = () => {
    document.removeEventListener('pointerdown', outside, true);
    menu.remove();
    back?.focus();
  };
  const outside = (event) => !menu.contains(event.target) && close();
  const menu = h(
    'div',
    {
      class: 'menu',
      role: 'menu',
      'aria-label': title,
      onkeydown: (event) => {
        const items = [...menu.querySelectorAll('button')];
        const at = items.indexOf(document.activeElement);
        const keys = {
          ArrowDown: () => items[(at + 1) % items.length].focus(),
          ArrowUp: () => items.at(at - 1).focus(),
          Home: () => items[0].focus(),
          End: () => items.at(-1).focus(),
          Escape: close,
          Tab: close,
        };
        actions.forEach(([, key], place) => {
          keys[key] = () => items[place].click();
        });
        if (act(event, keys)) event.stopPropagation();
      },
    },
    h('p', {}, title),
    actions.map((action) =>
      h(
        'button',
        {
          type: 'button',
          role: 'menuitem',
          tabindex: -1,
          onclick: () => {
            close();
            perform(action);
          },
        },
        h('span', {}, action[0]),
        h('kbd', { 'aria-hidden': 'true' }, action[1]),
      ),
    ),
  );
  document.body.append(menu);
  const box = target.getBoundingClientRect();
  const [x, y] = clientX || clientY ? [clientX, clientY] : [box.left, box.bottom];
  menu.style.left = `${Math.max(0, Math.min(x, innerWidth - menu.offsetWidth - 8))}px`;
  menu.style.top = `${Math.max(0, Math.min(y, innerHeight - menu.offsetHeight - 8))}px`;
  menu.querySelector('button').focus();
  document.addEventListener('pointerdown', outside, true);
}

// ---- the tooltip at the mouse ----

const tip = h('div', { class: 'tip', 'aria-hidden': 'true', hidden: true });
document.body.append(tip);

// Shows lines of text at the mouse, or hides them.
function showTip(event, lines) {
  tip.hidden = !lines;
  if (!lines) return;
  tip.replaceChildren(...lines.map((line, index) => h(index ? 'div' : 'b', {}, line)));
  const [x, y] = [event.clientX + 14, event.clientY + 18];
  tip.style.left = `${Math.max(0, Math.min(x, innerWidth - tip.offsetWidth - 8))}px`;
  tip.style.top = `${y + tip.offsetHeight > innerHeight ? event.clientY - tip.offsetHeight - 8 : y}px`;
}
