'use strict';

/** Makes an element: `element('a', { href: '/', class: 'quiet' }, 'text', other)`. Text is never read as HTML. */
function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) {
    if (typeof value === 'function') made.addEventListener(attribute, value);
    else if (value !== undefined && value !== false) made.setAttribute(attribute, value === true ? '' : value);
  }
  made.append(...children.filter((child) => child !== undefined));
  return made;
}

/** A part of a picture. */
function drawn(name, attributes, text) {
  const made = document.createElementNS('http://www.w3.org/2000/svg', name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

function byId(id) {
  return document.getElementById(id);
}

/** Writes numbers alike wherever the reader is: 1,234,567. */
function count(number) {
  return number.toLocaleString('en');
}

/** A method's name, which a narrow place may break before a capital. */
function breakable(name) {
  return name.split(/(?=[A-Z])/).flatMap((part, at) => (at === 0 ? [part] : [element('wbr'), part]));
}

/** 1 call, 2 calls. */
function many(number, what) {
  return `${count(number)} ${what}${number === 1 ? '' : 's'}`;
}

/** A row for each of `rows`, of which each cell is text or an element. Narrow screens show the heads beside the cells. */
function table(heads, rows) {
  const head = element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)));
  const row = (cells) => element('tr', {}, ...cells.map((cell, at) => element('td', { 'data-head': heads[at] }, cell)));
  return element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows.map(row)));
}

function copyButton(read) {
  const button = element('button', { type: 'button' }, 'Copy');
  button.addEventListener('click', async () => {
    await navigator.clipboard.writeText(read());
    button.textContent = 'Copied';
    setTimeout(() => (button.textContent = 'Copy'), 1500);
  });
  return button;
}
