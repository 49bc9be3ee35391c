'use strict';
const WIDTH = 1180, LEFT = 10, CHARACTER = 7;
const byId = id => document.getElementById(id);
const frames = [...document.querySelectorAll('#frames > g')].map(element => {
  const rect = element.querySelector('rect');
  const [x, width, y] = ['x', 'width', 'y'].map(name => Number(rect.getAttribute(name)));
  const title = element.querySelector('title').textContent;
  return { element, rect, text: element.querySelector('text'), x, width, y, title, fill: rect.getAttribute('fill') };
});
const nameOf = frame => frame.title.slice(0, frame.title.lastIndexOf(' ('));
let zoomed = frames[0];

function place(frame, x, width) {
  frame.rect.setAttribute('x', x);
  frame.rect.setAttribute('width', width);
  frame.text.setAttribute('x', x + 3);
  const name = nameOf(frame), most = Math.floor((width - 6) / CHARACTER);
  frame.text.textContent = most < 3 ? '' : name.length <= most ? name : name.slice(0, most - 2) + '..';
}

function zoom(to) {
  zoomed = to;
  const scale = WIDTH / to.width, near = 0.001;
  for (const frame of frames) {
    const isBelow = frame.y >= to.y && frame.x <= to.x + near && frame.x + frame.width >= to.x + to.width - near;
    const isAbove = frame.y <= to.y && frame.x >= to.x - near && frame.x + frame.width <= to.x + to.width + near;
    frame.element.style.display = isBelow || isAbove ? '' : 'none';
    frame.element.classList.toggle('parent', isBelow && frame !== to);
    if (isBelow) place(frame, LEFT, WIDTH);
    else if (isAbove) place(frame, LEFT + (frame.x - to.x) * scale, frame.width * scale);
  }
  byId('reset').style.display = to === frames[0] ? 'none' : '';
}

function search(text) {
  let expression;
  try {
    expression = new RegExp(text);
  } catch {
    expression = new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'));
  }
  const found = text ? frames.filter(frame => frame !== frames[0] && expression.test(nameOf(frame))) : [];
  for (const frame of frames) frame.rect.setAttribute('fill', frame.fill);
  // What lies above a match is part of it.
  let end = 0, sum = 0;
  for (const frame of [...found].sort((a, b) => a.x - b.x || b.width - a.width)) {
    frame.rect.setAttribute('fill', '#e600e6');
    sum += Math.max(0, frame.x + frame.width - Math.max(end, frame.x));
    end = Math.max(end, frame.x + frame.width);
  }
  byId('matched').textContent = text ? `matched ${(100 * sum / WIDTH).toFixed(2)}%` : '';
  byId('search').textContent = text ? 'clear search' : 'search';
}

const ask = () => {
  const text = byId('matched').textContent ? '' : window.prompt('Methods that match (regular expression):', '');
  if (text !== null) search(text);
};
for (const frame of frames) {
  frame.element.addEventListener('click', () => zoom(frame));
  frame.element.addEventListener('mouseover', () => { byId('details').textContent = frame.title; });
  frame.element.addEventListener('mouseout', () => { byId('details').textContent = ''; });
}
byId('search').addEventListener('click', ask);
byId('reset').addEventListener('click', () => zoom(frames[0]));
window.addEventListener('keydown', event => {
  if (event.key === '/' || ((event.ctrlKey || event.metaKey) && event.key === 'f')) {
    event.preventDefault();
    ask();
  } else if (event.key === 'Escape') {
    search('');
    zoom(frames[0]);
  }
});
zoom(zoomed);
