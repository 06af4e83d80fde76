'use strict';

const html = htm.bind(preact.h);

/** Data that the gateway wrote into the page. */
const data = JSON.parse(byId('data').textContent);

/** Draws the page from what its script has loaded. The script of each page has a function `view`. */
function draw() {
  preact.render(view(), byId('page'));
}

/** Loads again each `ms()` while the page is visible, and when it becomes visible again. */
function poll(load, ms) {
  let timer;
  const next = async () => {
    clearTimeout(timer);
    if (document.hidden) return;
    await load();
    clearTimeout(timer);
    timer = setTimeout(next, ms());
  };
  document.addEventListener('visibilitychange', next);
  timer = setTimeout(next, ms());
}

/**
 * Makes a function that loads what the latest choice shows. A newer call aborts the load in progress, whose results and error
 * are ignored.
 * @returns calls `load` with the signal of the abort, then `show` with its results
 */
function latestLoad() {
  let loading = new AbortController();
  return async (load, show) => {
    loading.abort();
    const { signal } = (loading = new AbortController());
    try {
      const results = await load(signal);
      if (!signal.aborted) await show(results);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
}

async function loadJson(url, signal) {
  const response = await fetch(url, { headers: { accept: 'application/json' }, signal });
  if (!response.ok) throw Object.assign(new Error(`HTTP ${response.status}`), { status: response.status });
  return response.json();
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
  return name.split(/(?=[A-Z])/).flatMap((part, index) => (index === 0 ? [part] : [html`<wbr />`, part]));
}

/** 1 call, 2 calls. */
function quantity(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? '' : 's'}`;
}

function milliseconds(ms) {
  return ms < 1 ? '< 1 ms' : `${formatNumber(Math.round(ms))} ms`;
}

/** 90 s, 5 min, 3 h, 4 days. */
function age(seconds) {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} days`;
}

/** An ISO time in UTC, to the second or with fewer characters. */
function utcTime(iso, length = 19) {
  return `${iso.slice(0, length).replace('T', ' ')}Z`;
}

/** @param seconds since 1970 @returns the time to the minute */
function utcMinute(seconds) {
  return utcTime(new Date(seconds * 1000).toISOString(), 16);
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

function pageHeader(title, summary, style = 'quiet', more = undefined) {
  return html`<header>
    <h1 id="title">${title}</h1>
    <span id="summary" class=${style} role="status">${summary}</span>
    ${more}
  </header>`;
}

/**
 * A table. A head is a text, which may be empty, or has `title`, `onSort`, and `order` if the table is sorted by it. A row is an
 * array of cells or a table row. Narrow screens show the head above each cell.
 */
function table(heads, rows, attributes = {}) {
  const row = (cells) =>
    html`<tr>
      ${cellsOf(heads, cells)}
    </tr>`;
  return html`<table ...${attributes}>
    <thead>
      <tr>
        ${heads.map(headCell)}
      </tr>
    </thead>
    <tbody>
      ${rows.map((each) => (Array.isArray(each) ? row(each) : each))}
    </tbody>
  </table>`;
}

function cellsOf(heads, cells) {
  return cells.map((cell, index) => html`<td data-head=${heads[index].title ?? heads[index]}>${cell}</td>`);
}

/** Row of a table, and below it its details over the whole width, if there are any. */
function openableRow(heads, cells, details, attributes = {}) {
  const row = html`<tr ...${attributes}>
    ${cellsOf(heads, cells)}
  </tr>`;
  return details === undefined
    ? [row]
    : [
        row,
        html`<tr key=${attributes.key && `${attributes.key} details`}>
          <td colspan=${heads.length}>${details}</td>
        </tr>`,
      ];
}

/** Filter of a list: its result is true for a text that has all words of the search field. @param id of the search field */
function wordFilter(id) {
  const words = (byId(id)?.value ?? '').trim().toLowerCase().split(/\s+/);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}

function headCell(head) {
  if (head === '') return html`<td></td>`;
  const { title = head, onSort, order } = head;
  if (onSort === undefined) return html`<th scope="col">${title}</th>`;
  const mark = { ascending: ' ↑', descending: ' ↓' }[order] ?? '';
  return html`<th scope="col" aria-sort=${order}>
    <button type="button" class="sort" onClick=${onSort}>${title}${mark}</button>
  </th>`;
}

/** A labelled control, with a hint and a place for its error. */
function field(id, label, control, hint = undefined) {
  return html`<div>
    <label for=${id}>${label}</label>
    ${control} ${hint !== undefined && html`<p id="${id}-hint" class="hint">${hint}</p>`}
    <p id="${id}-error" class="error" role="alert"></p>
  </div>`;
}

/**
 * A text input without suggestions of the browser. Its value is that of its user: drawing does not change it. `spellcheck` is
 * a property, for which the text `false` is true.
 */
function textInput(id, attributes = {}) {
  return html`<input id=${id} autocomplete="off" spellcheck=${false} ...${attributes} />`;
}

/** Shows an error beside its field. @returns true */
function showError(input, text) {
  byId(`${input.id}-error`).textContent = text;
  input.setAttribute('aria-invalid', 'true');
  describe(input, 'error', 'hint');
  input.focus();
  return true;
}

function clearErrors(form) {
  for (const input of form.querySelectorAll('[aria-invalid]')) {
    input.removeAttribute('aria-invalid');
    describe(input, 'hint');
    byId(`${input.id}-error`).textContent = '';
  }
}

/** Links an input to those of its texts that exist. */
function describe(input, ...kinds) {
  const ids = kinds.map((kind) => `${input.id}-${kind}`).filter((id) => byId(id) !== null);
  if (ids.length === 0) input.removeAttribute('aria-describedby');
  else input.setAttribute('aria-describedby', ids.join(' '));
}

/** A choice of one value. @param choices texts by value @param selected at first */
function select(id, choices, attributes = {}, selected = undefined) {
  const option = ([value, text]) => html`<option value=${value} selected=${value === selected}>${text}</option>`;
  return html`<select id=${id} ...${attributes}>
    ${Object.entries(choices).map(option)}
  </select>`;
}

/** Choices whose texts are their values. */
function sameTexts(values) {
  return Object.fromEntries(values.map((value) => [value, value]));
}

const selectedTabs = {};

/** Tabs with one panel. Arrow keys select the next tab. @param texts functions by the name of their tab */
function tabList(id, panelId, texts, copyLabel = 'Copy code') {
  const names = Object.keys(texts);
  const selected = names.includes(selectedTabs[id]) ? selectedTabs[id] : names[0];
  const choose = (name) => {
    selectedTabs[id] = name;
    draw();
  };
  const onKeyDown = ({ key, currentTarget }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key];
    if (step === undefined) return;
    const index = (names.indexOf(selected) + step + names.length) % names.length;
    choose(names[index]);
    currentTarget.children[index].focus();
  };
  const tab = (name) => {
    const isSelected = name === selected;
    const attributes = {
      role: 'tab',
      'aria-controls': panelId,
      'aria-selected': isSelected,
      tabIndex: isSelected ? 0 : -1,
    };
    return html`<button type="button" ...${attributes} onClick=${() => choose(name)}>${name}</button>`;
  };
  return html`<div id=${id} class="row" role="tablist" aria-label="Programs" onKeyDown=${onKeyDown}>
      ${names.map(tab)}
    </div>
    <pre id=${panelId} role="tabpanel" aria-label="Code" tabindex="0">${texts[selected]()}</pre>
    ${copyButton(() => byId(panelId).textContent, copyLabel)}`;
}

/** A button that copies a text. */
function copyButton(read, label = 'Copy') {
  const onClick = async ({ currentTarget }) => {
    currentTarget.textContent = (await copy(read())) ? 'Copied' : 'Not copied';
    setTimeout(() => (currentTarget.textContent = label), 1500);
  };
  return html`<button type="button" onClick=${onClick}>${label}</button>`;
}

/** Browsers have no `navigator.clipboard` on a page without TLS, unless it is on localhost. */
async function copy(text) {
  if (navigator.clipboard !== undefined) {
    const copied = navigator.clipboard.writeText(text).then(() => true);
    return copied.catch(() => false);
  }
  const area = document.createElement('textarea');
  area.className = 'outside';
  area.value = text;
  const focused = document.activeElement;
  document.body.append(area);
  area.select();
  const isCopied = document.execCommand('copy');
  area.remove();
  focused?.focus();
  return isCopied;
}

const rangeTitles = { '1h': '1 hour', '24h': '24 hours', '7d': '7 days', '30d': '30 days', '90d': '90 days' };
/** The range that all graphs of the page have. The address of the page has it, too. */
let range;

/** @param names of the ranges that the page offers, the first one by default */
function readRange(...names) {
  const given = new URLSearchParams(location.search).get('range');
  range = names.includes(given) ? given : names[0];
}

/** The days of usage that a range shows: usage is counted by day. */
function daysOf(name) {
  return { '1h': 1, '24h': 1 }[name] ?? Number.parseInt(name);
}

/** @param titles by range */
function rangeButtons(titles, onChange) {
  const choose = (name) => {
    range = name;
    const parameters = new URLSearchParams(location.search);
    parameters.set('range', name);
    history.replaceState(null, '', `?${parameters}${location.hash}`);
    draw();
    void onChange();
  };
  const button = ([name, title]) =>
    html`<button type="button" value=${name} aria-pressed=${name === range} onClick=${() => choose(name)}>
      ${title}
    </button>`;
  return html`<div id="ranges" class="row" role="group" aria-label="Range">${Object.entries(titles).map(button)}</div>`;
}

/** Marks the link to this page in the navigation. */
for (const link of document.querySelectorAll('#console a'))
  if (new URL(link.href).pathname === location.pathname) link.setAttribute('aria-current', 'page');
