// Graphs of stacks: frames as wide as what they have, those that they call below or above them.

const LEVEL = 21;
// Narrower frames can't be seen, let alone hit.
const NARROWEST = 0.0006;

// What a frame is, for its colour.
function colour(tree, key) {
  if (key == null) return ['root', 0];
  if (isObject(key)) return ['object', 0];
  if (tree.byLine && frames.line[key] === NATIVE) return ['native', 0];
  const name = methodClass(methodOfKey(tree, key));
  // One hue for a package, so that a library is one colour.
  let hash = 7;
  for (const letter of packageOf(name)) hash = (hash * 31 + letter.charCodeAt(0)) % 997;
  return [JDK.test(name) ? 'jdk' : 'application', hash % 48];
}

// A graph of an entry and what is below it: `total` is its width, or `wide` and `at` its place in time.
//
// Callers stand above what they call unless `up`. The address has in `at` which frame is zoomed in to: the keys on
// the way to it.
function flameGraph({ root, whole, unit, profile, page, title = 'Flame graph', up = false, at = 'z' }) {
  const { tree } = root;
  const isTime = root.at != null;
  let way = [root];
  let matches = null;
  let largest = null;
  // Entry -> its frame, of those that are wide enough to be drawn; and the entry above it.
  const shown = new Map();
  const above = new Map();

  const graph = h('div', {
    class: 'flame',
    role: 'tree',
    'aria-label': `${title}: arrow keys move, Enter zooms in, Escape zooms out, M opens a menu`,
  });
  const about = h('p', { class: 'about', role: 'status' });

  const size = (entry) => entry.wide ?? entry.total[profile];
  const share = (entry, of) => entry.total[of] / (whole[of] || 1);
  const delta = (entry) => share(entry, AFTER) - share(entry, BEFORE);
  // The address has this of an entry: in time, a method may come again.
  const idOf = (entry) => entry.id ?? entry.key;
  const children = (entry) => {
    const wide = entry.children().filter((child) => size(child) > 0);
    return isTime ? wide : wide.sort((a, b) => size(b) - size(a));
  };

  function amounts(entry) {
    return profiles.map((_, of) => {
      const label = comparing ? (of === BEFORE ? 'before: ' : 'after: ') : '';
      const total = `${show(entry.total[of], unit)} (${percent(entry.total[of], whole[of])})`;
      return `${label}${total}, of its own ${show(entry.self[of], unit)}`;
    });
  }
  const describe = (entry) => `${keyName(tree, entry.key)} – ${amounts(entry).join('; ')}`;

  // Tells of the frame that has the focus or is zoomed in to, and what can be done with it.
  function tell(entry) {
    const parts = [
      describe(entry),
      ...frameActions(page, tree, entry.key).flatMap((action) => [
        ' ',
        typeof action[2] === 'string'
          ? h('a', { href: action[2] }, action[0])
          : h('button', { type: 'button', onclick: () => perform(action) }, action[0]),
      ]),
      way.length > 1 && h('button', { type: 'button', onclick: () => zoom(root) }, 'Zoom out'),
    ];
    about.replaceChildren(...parts.filter(Boolean));
  }

  function place(entry, left, part, level) {
    const { key } = entry;
    const [kind, hue] = colour(tree, key);
    const frame = h('div', {
      class: `frame ${comparing && key != null ? 'compared' : kind}${matches?.(key) ? ' match' : ''}`,
      role: 'treeitem',
      tabindex: -1,
      'aria-level': level + 1,
      'aria-expanded': entry.hasChildren ? String(part >= NARROWEST) : null,
      'aria-label': describe(entry),
      style: { left: `${100 * left}%`, width: `${100 * part}%`, '--hue': hue },
    });
    if (part > 0.02)
      frame.append(
        h(
          'span',
          {},
          key == null ? 'all' : isObject(key) ? simple(strings[-1 - key]) : shortMethodName(methodOfKey(tree, key)),
        ),
      );
    frame.entry = entry;
    frame.level = level;
    shown.set(entry, frame);
  }

  function draw() {
    const focused = graph.contains(document.activeElement) ? document.activeElement.entry : null;
    shown.clear();
    const zoomed = way.at(-1);
    way.slice(0, -1).forEach((entry, level) => place(entry, 0, 1, level));
    let deepest = 0;
    const pending = [[zoomed, 0, 1, way.length - 1]];
    while (pending.length) {
      const [entry, left, part, level] = pending.pop();
      deepest = Math.max(deepest, level);
      place(entry, left, part, level);
      let next = left;
      for (const child of children(entry)) {
        const wide = (part * size(child)) / size(entry);
        above.set(child, entry);
        if (isTime) next = left + (part * (child.at - entry.at)) / size(entry);
        if (wide >= NARROWEST) pending.push([child, next, wide, level + 1]);
        else if (!isTime) break;
        next += wide;
      }
    }
    graph.style.height = `${(deepest + 1) * LEVEL}px`;
    const frames = document.createDocumentFragment();
    if (comparing) {
      largest ??= [...shown.keys()].reduce((most, entry) => Math.max(most, Math.abs(delta(entry))), 1e-9);
      for (const [entry, frame] of shown) {
        if (entry.key == null) continue;
        const part = Math.sign(delta(entry)) * Math.sqrt(Math.min(1, Math.abs(delta(entry)) / largest));
        frame.classList.add(part > 0 ? 'more' : part < 0 ? 'less' : 'same');
        frame.style.setProperty('--strength', Math.abs(part).toFixed(3));
      }
    }
    for (const frame of shown.values()) {
      frame.style.top = `${(up ? deepest - frame.level : frame.level) * LEVEL}px`;
      frames.append(frame);
    }
    graph.replaceChildren(frames);
    graph.classList.toggle('searching', Boolean(matches));
    for (const entry of way.slice(0, -1)) shown.get(entry).classList.add('above');
    const current = shown.get(focused) ?? shown.get(zoomed);
    if (focused) focus(current);
    else current.setAttribute('tabindex', 0);
    tell(current.entry);
  }

  const focus = (frame) => moveFocus(graph, frame);

  function zoom(entry) {
    const keys = [];
    for (let node = entry; node !== root; node = above.get(node)) keys.unshift(idOf(node));
    location.hash = page.address({ [at]: keys.length ? keys.join('.') : null });
  }

  // Goes as far down the way in the address as there are frames.
  function update({ query }) {
    way = [root];
    for (const id of (query[at] ?? '').split('.').filter(Boolean)) {
      const next = children(way.at(-1)).find((child) => String(idOf(child)) === id);
      if (!next) break;
      above.set(next, way.at(-1));
      way.push(next);
    }
    draw();
  }

  const frameOf = (event) => event.target.closest('.frame');
  graph.addEventListener('click', (event) => frameOf(event) && zoom(frameOf(event).entry));
  graph.addEventListener('pointermove', (event) => {
    const { entry } = frameOf(event) ?? {};
    showTip(event, entry && event.pointerType !== 'touch' && [keyName(tree, entry.key), ...amounts(entry)]);
  });
  graph.addEventListener('pointerleave', (event) => showTip(event, null));
  graph.addEventListener('focusin', (event) => event.target.entry && tell(event.target.entry));
  const menu = (event) => {
    const { entry } = frameOf(event) ?? {};
    if (!entry || entry.key == null) return;
    event.preventDefault();
    showTip(event, null);
    focus(frameOf(event));
    openMenu(keyName(tree, entry.key), frameActions(page, tree, entry.key), {
      clientX: event.clientX,
      clientY: event.clientY,
      target: frameOf(event),
    });
  };
  graph.addEventListener('contextmenu', menu);
  graph.addEventListener('keydown', (event) => {
    const { entry } = event.target;
    if (!entry) return;
    const siblings = () => (entry === root ? [] : children(above.get(entry)).filter((one) => shown.has(one)));
    const inner = () => focus(shown.get(children(entry)[0]));
    const outer = () => entry !== root && focus(shown.get(above.get(entry)));
    const keys = {
      ArrowDown: up ? outer : inner,
      ArrowUp: up ? inner : outer,
      ArrowRight: () => focus(shown.get(siblings()[siblings().indexOf(entry) + 1])),
      ArrowLeft: () => focus(shown.get(siblings()[siblings().indexOf(entry) - 1])),
      Home: () => focus(shown.get(root)),
      Enter: () => zoom(entry),
      ' ': () => zoom(entry),
      Escape: () => zoom(root),
      m: () => menu(event),
    };
    for (const action of frameActions(page, tree, entry.key)) keys[action[1]] = () => perform(action);
    act(event, keys);
  });

  // Marks what matches, and tells its share.
  function search(text) {
    matches = text ? keyMatcher(tree, text) : null;
    draw();
    if (!matches) return '';
    return `matches: ${percent(shareOf(tree, matches, profile), whole[profile])}`;
  }

  // Goes to the next match that can be seen, or the one before.
  function step(direction) {
    const all = [...graph.querySelectorAll('.match')];
    const last = all.indexOf(graph.querySelector('.at'));
    all[last]?.classList.remove('at');
    const next = all.at(last < 0 && direction < 0 ? -1 : (last + direction) % all.length);
    next?.classList.add('at');
    next?.scrollIntoView({ block: 'nearest' });
    if (next) tell(next.entry);
  }

  update(page);
  return Object.assign(h('div', {}, about, graph), { search, step, update });
}

function legend() {
  const entries = comparing
    ? [
        ['compared more', 'larger share after'],
        ['compared less', 'smaller share after'],
      ]
    : [
        ['application', 'application, a hue for each package'],
        ['jdk', 'JDK'],
        ['object', 'allocated class, monitor or thread state'],
      ];
  return h(
    'p',
    { class: 'legend' },
    entries.map(([kind, text]) => [
      h('span', { class: `swatch ${kind}`, 'aria-hidden': 'true', style: { '--hue': 20, '--strength': 0.8 } }),
      ` ${text} `,
    ]),
  );
}
