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

/** Creates a table; each cell is text or an element. Narrow screens show the head above each cell. */
function table(heads, rows) {
  const head = element('tr', {}, ...heads.map((text) => element('th', { scope: 'col' }, text)));
  const row = (cells) =>
    element('tr', {}, ...cells.map((cell, index) => element('td', { 'data-head': heads[index] }, cell)));
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
