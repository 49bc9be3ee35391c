// The flame graph: callers above what they call, as wide as what they have.

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

// A flame graph of a tree. `link(node)` is an address for more about a node; `total(node)` the width.
function flameGraph({ tree, whole, unit, link, profile }) {
  const { total } = tree;
  const width = total[profile];
  const deltas =
    comparing &&
    tree.parent.map(
      (_, node) => total[AFTER][node] / (whole[AFTER] || 1) - total[BEFORE][node] / (whole[BEFORE] || 1),
    );
  const largest =
    comparing && topLevels(tree).reduce((most, node) => Math.max(most, Math.abs(deltas[node])), 1e-9);
  let zoomed = 0;
  let query = '';
  // Node -> its frame, of those that are wide enough to be drawn.
  const shown = new Map();

  const graph = h('div', {
    class: 'flame',
    role: 'tree',
    'aria-label': 'Flame graph: arrow keys move, Enter zooms in, Escape zooms out',
  });
  const about = h('p', { class: 'about', role: 'status' });
  const back = h('button', { type: 'button', onclick: () => zoom(0), hidden: true }, 'Zoom out');
  const found = h('span', { class: 'found' });

  const children = (node) =>
    tree.below[node].filter((child) => width[child] > 0).sort((a, b) => width[b] - width[a]);

  function describe(node) {
    const key = tree.key[node];
    const parts = profiles.map((_, of) => {
      const label = comparing ? (of === BEFORE ? 'before: ' : 'after: ') : '';
      return `${label}${show(total[of][node], unit)} (${percent(total[of][node], whole[of])}), of its own ${show(tree.self[of][node], unit)}`;
    });
    return `${keyName(tree, key)} – ${parts.join('; ')}`;
  }

  function tell(node) {
    const address = tree.method(node) == null ? null : link(node);
    about.replaceChildren(describe(node), ' ', address ? h('a', { href: address }, 'Callers and callees') : '');
  }

  function place(node, left, part, level) {
    const key = tree.key[node];
    const [kind, hue] = colour(tree, key);
    const matches = query && keyName(tree, key).toLowerCase().includes(query);
    const frame = h('div', {
      class: `frame ${comparing && key != null ? 'compared' : kind}${matches ? ' match' : ''}`,
      role: 'treeitem',
      tabindex: -1,
      'aria-level': level + 1,
      'aria-expanded': children(node).length ? String(part >= NARROWEST) : null,
      'aria-label': describe(node),
      style: { left: `${100 * left}%`, width: `${100 * part}%`, top: `${level * LEVEL}px`, '--hue': hue },
    });
    if (comparing && key != null) {
      const part = Math.sign(deltas[node]) * Math.sqrt(Math.min(1, Math.abs(deltas[node]) / largest));
      frame.classList.add(part > 0 ? 'more' : part < 0 ? 'less' : 'same');
      frame.style.setProperty('--strength', Math.abs(part).toFixed(3));
    }
    if (part > 0.02)
      frame.append(
        h(
          'span',
          {},
          key == null
            ? 'all'
            : isObject(key)
              ? simple(strings[-1 - key])
              : shortMethodName(methodOfKey(tree, key)),
        ),
      );
    frame.node = node;
    shown.set(node, frame);
  }

  function draw() {
    shown.clear();
    const above = [];
    for (let node = zoomed; node !== 0; node = tree.parent[node]) above.unshift(tree.parent[node]);
    above.forEach((node, level) => place(node, 0, 1, level));
    let deepest = above.length;
    const pending = [[zoomed, 0, 1, above.length]];
    while (pending.length) {
      const [node, left, part, level] = pending.pop();
      deepest = Math.max(deepest, level);
      place(node, left, part, level);
      let at = left;
      for (const child of children(node)) {
        const wide = (part * width[child]) / width[node];
        if (wide < NARROWEST) break;
        pending.push([child, at, wide, level + 1]);
        at += wide;
      }
    }
    graph.style.height = `${(deepest + 1) * LEVEL}px`;
    const frames = document.createDocumentFragment();
    for (const frame of shown.values()) frames.append(frame);
    graph.replaceChildren(frames);
    graph.classList.toggle('searching', Boolean(query));
    for (const node of above) shown.get(node).classList.add('above');
    shown.get(zoomed).setAttribute('tabindex', 0);
    back.hidden = zoomed === 0;
  }

  function focus(frame) {
    if (!frame) return;
    graph.querySelector('[tabindex="0"]')?.setAttribute('tabindex', -1);
    frame.setAttribute('tabindex', 0);
    frame.focus();
  }

  function zoom(node) {
    zoomed = node;
    draw();
    tell(node);
  }

  graph.addEventListener('click', (event) => {
    const frame = event.target.closest('.frame');
    if (frame) zoom(frame.node);
  });
  graph.addEventListener('mouseover', (event) => {
    const frame = event.target.closest('.frame');
    if (frame) tell(frame.node);
  });
  graph.addEventListener('mouseleave', () => tell(zoomed));
  graph.addEventListener('focusin', (event) => tell(event.target.node));
  graph.addEventListener('keydown', (event) => {
    const { node } = event.target;
    const siblings = () => children(tree.parent[node]).filter((sibling) => shown.has(sibling));
    const keys = {
      ArrowDown: () => focus(shown.get(children(node)[0])),
      ArrowUp: () => node !== 0 && focus(shown.get(tree.parent[node])),
      ArrowRight: () => focus(shown.get(siblings()[siblings().indexOf(node) + 1])),
      ArrowLeft: () => focus(shown.get(siblings()[siblings().indexOf(node) - 1])),
      Home: () => focus(shown.get(0)),
      Enter: () => {
        zoom(node);
        focus(shown.get(node));
      },
      ' ': () => {
        zoom(node);
        focus(shown.get(node));
      },
      Escape: () => {
        zoom(0);
        focus(shown.get(node) ?? shown.get(0));
      },
    };
    if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      keys[event.key]();
    }
  });

  function search(text) {
    query = text.toLowerCase();
    draw();
    if (!query) {
      found.textContent = '';
      return;
    }
    // What is below a match is its own: it counts once.
    let matched = 0;
    const pending = [0];
    while (pending.length) {
      const node = pending.pop();
      if (keyName(tree, tree.key[node]).toLowerCase().includes(query)) matched += width[node];
      else for (const child of tree.below[node]) pending.push(child);
    }
    found.textContent = `matches: ${percent(matched, whole[profile])}`;
  }

  draw();
  tell(0);
  const element = h('div', {}, h('div', { class: 'below' }, about, found, back), graph, legend());
  element.search = search;
  return element;
}

// The nodes that can be seen at once and set the scale of changes: those of the first levels.
function topLevels(tree) {
  const level = [0];
  const found = [];
  for (let node = 1; node < tree.parent.length; node += 1) {
    level.push(level[tree.parent[node]] + 1);
    if (level[node] <= 12) found.push(node);
  }
  return found;
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
