// The data of the page, and its numbers and names in words.

const data = JSON.parse(document.getElementById('data').textContent);
const { profiles, strings } = data;
const { methods, frames, nodes } = data.code;

// ---- columns ----

const DIGITS = new Map(
  [...'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/'].map((digit, value) => [digit, value]),
);

// The numbers of a column, which is text: differences, each with the number of its repetitions.
function column(text) {
  const numbers = [];
  let [value, at] = [0, 0];
  const next = () => {
    for (let [number, place] = [0, 1]; ; place *= 32, at += 1) {
      const digit = DIGITS.get(text[at]);
      number += (digit % 32) * place;
      if (digit < 32) {
        at += 1;
        return number;
      }
    }
  };
  while (at < text.length) {
    const code = next();
    const step = Math.floor(code / 4) * (code & 2 ? -1 : 1);
    for (let times = code & 1 ? next() : 1; times > 0; times -= 1) numbers.push((value += step));
  }
  return numbers;
}

for (const name of ['parent', 'frame']) nodes[name] = column(nodes[name]);
for (const table of data.tables) {
  for (const name of ['node', 'thread', 'object']) table[name] = column(table[name]);
  for (const measure of table.measures) measure.values = measure.values.map(column);
}

// Profiles are compared from the first to the last.
const BEFORE = 0;
const AFTER = profiles.length - 1;
const comparing = AFTER > BEFORE;

const NATIVE = -3;

const sum = (values) => values.reduce((a, b) => a + b, 0);
const change = (values) => values[AFTER] - values[BEFORE];
const zeros = () => profiles.map(() => 0);

// ---- numbers ----

const grouped = new Intl.NumberFormat('en');

function scaled(value, units, step) {
  let unit = 0;
  // What would be rounded to the next unit is told in it.
  while (unit < units.length - 1 && Math.abs(value) >= 0.9995 * step) {
    value /= step;
    unit += 1;
  }
  const digits = unit === 0 || Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return `${value.toFixed(digits)} ${units[unit]}`;
}

// A value as it is read best.
function show(value, unit) {
  if (unit === 'bytes') return scaled(value, ['B', 'kB', 'MB', 'GB', 'TB'], 1000);
  if (unit === 'microseconds') {
    return Math.abs(value) >= 60e6
      ? `${grouped.format(Math.round(value / 1e6))} s`
      : scaled(value, ['µs', 'ms', 's'], 1000);
  }
  return grouped.format(value);
}

// A value to the last digit.
function exactly(value, unit) {
  return unit === 'count' ? grouped.format(value) : `${grouped.format(value)} ${unit}`;
}

const counted = (number, noun) => `${grouped.format(number)} ${noun}${number === 1 ? '' : 's'}`;

function showChange(value, unit) {
  if (value === 0) return '±0';
  return (value > 0 ? '+' : '−') + show(Math.abs(value), unit);
}

function percent(part, whole) {
  if (!whole) return '0 %';
  const share = (100 * part) / whole;
  return `${share.toFixed(share !== 0 && Math.abs(share) < 10 ? 2 : 1)} %`;
}

function time(milliseconds) {
  return new Date(milliseconds).toLocaleString('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
}

// A test for texts: true if the query is in them, as it stands or as a regular expression.
function matcher(query) {
  const lower = query.toLowerCase();
  let expression = null;
  try {
    expression = new RegExp(query, 'i');
  } catch {
    // It is half written.
  }
  return (text) => text.toLowerCase().includes(lower) || Boolean(expression?.test(text));
}

// ---- names ----

const JDK = /^(java|javax|jdk|sun|com\.sun)\./;
// How a thread comes to wait in a lock of java.util.concurrent.
const LOCKING = /^(java\.util\.concurrent\.locks\.|(jdk\.internal\.misc|sun\.misc)\.Unsafe$)/;

const methodClass = (method) => strings[methods.class[method]];
// A method without a class is a name such as [GC].
const withClass = (className, method) => `${className}${className && '.'}${strings[methods.name[method]]}`;
const methodName = (method) => withClass(methodClass(method), method);

// The class without its package.
const simple = (name) => name.slice(name.lastIndexOf('.') + 1);
const packageOf = (name) => name.slice(0, name.lastIndexOf('.') + 1);

const shortMethodName = (method) => withClass(simple(methodClass(method)), method);

function lineName(frame) {
  const line = frames.line[frame];
  const told = strings[methods.source[frames.method[frame]]];
  const source = told === '<Unknown>' ? '' : told;
  if (line === NATIVE) return 'native';
  if (line === -2) return 'compiled';
  return line > 0 ? `${source || 'line'}:${line}` : source || 'unknown line';
}

// A name with the package before it in a quieter tone, and its last part in bold.
const nameLabel = (className, between, last) =>
  h('span', { class: 'name' }, h('span', { class: 'package' }, packageOf(className)), between, h('b', {}, last));

const classLabel = (name) => nameLabel(name, null, simple(name));

function methodLabel(method) {
  const name = methodClass(method);
  return nameLabel(name, name && `${simple(name)}.`, strings[methods.name[method]]);
}

function threadName(thread) {
  return thread < 0 ? 'unknown thread' : strings[data.threads.name[thread]] || '(no name)';
}
