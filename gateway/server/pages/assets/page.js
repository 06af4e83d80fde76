'use strict';

/** Creates an element: `element('a', { href: '/', class: 'quiet' }, 'text', other)`. Text is never parsed as HTML. */
function element(name, attributes = {}, ...children) {
  const created = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === 'function') created.addEventListener(attribute, value);
    else if (value !== undefined && value !== false) created.setAttribute(attribute, value === true ? '' : value);
  }
  created.append(...children.filter((child) => child !== undefined));
  return created;
}

/** Creates an SVG element. */
function svgElement(name, attributes, text) {
  const created = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value);
  if (text !== undefined) created.textContent = text;
  return created;
}

function byId(id) {
  return document.getElementById(id);
}

/** A decoded part of a URL. */
function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // A percent sign escapes nothing.
    return text;
  }
}

/** Formats a number in the same way in every locale: 1,234,567. */
function formatNumber(number) {
  return number.toLocaleString('en');
}

/** A method's name, which may break before a capital letter. */
function breakable(name) {
  return name.split(/(?=[A-Z])/).flatMap((part, index) => (index === 0 ? [part] : [element('wbr'), part]));
}

/** 1 call, 2 calls. */
function quantity(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

/** 90 s, 5 min, 3 h, 4 days. */
function age(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** An ISO time in UTC, to the second. */
function utcTime(iso) {
  return `${iso.slice(0, 19).replace('T', ' ')}Z`;
}

/** The style and the label of each state of an upstream. */
const upstreamStates = {
  up: ['good', '● up'],
  slow: ['warn', '◆ slow'],
  behind: ['warn', '◆ behind'],
  'other-branch': ['bad', '▲ other branch'],
  paused: ['warn', '◆ paused'],
  differs: ['warn', '◆ differs'],
  unused: ['quiet', '○ unused'],
  failing: ['bad', '▲ failing'],
  'other-chain': ['bad', '▲ wrong chain'],
  drained: ['warn', '◌ drained'],
};

/** Creates a table; each cell is text or an element, and a head may be empty. Narrow screens show the head above each cell. */
function table(heads, rows) {
  const headCell = (text) => (text === '' ? element('td') : element('th', { scope: 'col' }, text));
  const head = element('tr', {}, ...heads.map(headCell));
  const row = (cells) =>
    element('tr', {}, ...cells.map((cell, index) => element('td', { 'data-head': heads[index] }, cell)));
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows.map(row)));
}

/** A button that copies a text. */
function copyButton(read, label = 'Copy') {
  const button = element('button', { type: 'button' }, label);
  button.addEventListener('click', async () => {
    button.textContent = (await copy(read())) ? 'Copied' : 'Not copied';
    setTimeout(() => (button.textContent = label), 1500);
  });
  return button;
}

/** Browsers have no `navigator.clipboard` on a page without TLS, unless it is on localhost. */
async function copy(text) {
  if (navigator.clipboard !== undefined) {
    const copied = navigator.clipboard.writeText(text).then(() => true);
    return copied.catch(() => false);
  }
  const area = element('textarea', { class: 'outside', 'aria-hidden': 'true' });
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return isCopied;
}

/** Marks the link to this page in the navigation. */
function markConsoleLink() {
  for (const link of document.querySelectorAll('#console a')) {
    if (new URL(link.href).pathname === location.pathname) link.setAttribute('aria-current', 'page');
  }
}
markConsoleLink();
