'use strict';

const PAGE_KEYS = 50;
const LIST_USAGE_DAYS = 7;
const SEARCH_DELAY_MS = 200;

const heads = ['', 'Name', 'Team', 'Created', 'State', 'Last used', 'Quota used', 'Calls, 7 days'];
const orders = {
  '-created': 'newest first',
  '-use': 'most calls in 7 days',
  use: 'fewest calls in 7 days',
  created: 'oldest first',
  name: 'name, A to Z',
  '-name': 'name, Z to A',
  team: 'team, A to Z',
  '-team': 'team, Z to A',
  state: 'state, A to Z',
  '-state': 'state, Z to A',
};
const stateStyles = { active: 'good', development: 'good', invalid: 'bad' };

/** The page of the list, with what it was searched for, and why it cannot be loaded. */
let list = { keys: [], matching: 0, search: '' };
let totals;
let isListLoading = false;
let offset = 0;
/** Ids of the selected keys. */
let selected = new Set();
const loadList = latestLoad();

/** Loads the page of the list that the search, the order and the offset say. @param delayMs a newer call within it replaces this one */
function showList(delayMs = 0) {
  isListLoading = true;
  draw();
  return loadList(async (signal) => {
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs));
    const [search, team, sort] = ['search', 'team', 'sort'].map((id) => byId(id).value.trim());
    const parameters = { search, sort, offset, limit: PAGE_KEYS, days: LIST_USAGE_DAYS, ...(team !== '' && { team }) };
    signal.throwIfAborted();
    const read = sendRequest('GET', `/keys?${new URLSearchParams(parameters)}`, undefined, signal);
    return { search: search || team, ...(await read.catch((error) => ({ error, keys: [], matching: 0 }))) };
  }, takeList);
}

function takeList(loaded) {
  if (loaded.error === undefined && loaded.keys.length === 0 && offset > 0) {
    // The last page has become empty.
    offset = Math.max(0, Math.ceil(loaded.matching / PAGE_KEYS) - 1) * PAGE_KEYS;
    return showList();
  }
  list = loaded;
  if (loaded.error === undefined) totals = `${quantity(loaded.total, 'key')}, ${formatNumber(loaded.active)} active`;
  selected = new Set();
  isListLoading = false;
  draw();
}

/** Shows the list from its first page. */
function restartList(delayMs = 0) {
  offset = 0;
  return showList(delayMs);
}

function listView(isShown) {
  const { keys, matching, error, search } = list;
  const none = search === '' ? 'No keys yet.' : `No key matches “${search}”.`;
  const onInput = () => restartList(SEARCH_DELAY_MS);
  const input = textInput('search', { type: 'search', maxlength: 200, onInput });
  const teams = { '': 'all', ...sameTexts(choices.teams) };
  const turn = (id, step, isLast) => {
    const click = () => {
      if (isLast) return;
      offset += step;
      void showList();
    };
    return html`<button id=${id} type="button" aria-disabled=${isLast} onClick=${click}>
      ${step < 0 ? 'Previous' : 'Next'}
    </button>`;
  };
  return html`<section id="list-view" class="card" aria-labelledby="list-title" hidden=${!isShown}>
    <h2 id="list-title" tabindex="-1">All keys</h2>
    <p><a href="#new">Create a key</a></p>
    <div class="fields">
      ${field('search', 'Search by name, id, team or state', input)}
      ${field('team', 'Team', select('team', teams, { onChange: () => restartList() }))}
      ${field('sort', 'Sort by', select('sort', orders, { onChange: () => restartList() }))}
    </div>
    <div id="list-failure" hidden=${error === undefined}>
      <p id="list-error" class="bad" role="alert">${error && `The list cannot be loaded. ${error.message}`}</p>
      <button id="retry" type="button" onClick=${() => showList()}>Load again</button>
    </div>
    ${bulkView()}
    <div id="list" aria-busy=${isListLoading ? 'true' : undefined}>
      ${keys.length > 0 ? keyTable(keys) : html`<p class="quiet">${error === undefined && totals !== undefined && none}</p>`}
    </div>
    <nav id="pages" class="row" aria-label="Pages" hidden=${keys.length === 0}>
      ${turn('previous', -PAGE_KEYS, offset === 0)}
      <span id="range" role="status">
        ${formatNumber(offset + 1)} to ${formatNumber(offset + keys.length)} of ${formatNumber(matching)}
      </span>
      ${turn('next', PAGE_KEYS, offset + keys.length >= matching)}
    </nav>
  </section>`;
}

/** The keys of the page that can be selected. */
function selectableKeys() {
  return list.keys.filter(({ state }) => state !== 'revoked');
}

function bulkView() {
  const all = selectableKeys();
  const count = selected.size;
  const selectAll = ({ target }) => {
    selected = new Set(target.checked ? all.map(({ id }) => id) : []);
    draw();
  };
  const revoke = () => {
    confirmRevocation(
      all.filter(({ id }) => selected.has(id)),
      async () => {
        await showList();
        byId('list-title').focus();
      },
    );
  };
  return html`<div id="bulk" class="row" hidden=${all.length === 0}>
    <label class="check">
      <input type="checkbox" checked=${count > 0 && count === all.length} onChange=${selectAll} />
      Select all on this page
    </label>
    <span id="selected-count" class="quiet" role="status">${count === 0 ? 'None' : formatNumber(count)} selected</span>
    <button id="revoke-selected" type="button" class="danger" disabled=${count === 0} onClick=${revoke}>
      Revoke selected
    </button>
  </div>`;
}

function keyTable(keys) {
  const rows = keys.map(
    (key) =>
      html`<tr key=${key.id}>
        ${cellsOf(heads, keyCells(key))}
      </tr>`,
  );
  return table(heads, rows);
}

function keyCells(key) {
  const { id, name, permissions, createdAt, state, usage, quotas } = key;
  const toggle = () => {
    if (!selected.delete(id)) selected.add(id);
    draw();
  };
  const onlyErrors = usage?.errors > 0 && usage.errors >= usage.calls;
  const errorText = onlyErrors ? ', ▲ all errors' : `, ${quantity(usage?.errors ?? 0, 'error')}`;
  return [
    state !== 'revoked' &&
      html`<input
        type="checkbox"
        value=${id}
        aria-label="Select ${name}"
        checked=${selected.has(id)}
        onChange=${toggle}
      />`,
    html`<div><a href="#${id}">${name}</a> <code class="quiet">${id}</code></div>`,
    permissions?.team === undefined ? '–' : html`<a href="#team:${permissions.team}">${permissions.team}</a>`,
    day(createdAt),
    html`<span class=${stateStyles[state] ?? 'quiet'}>${stateText(key)}</span>`,
    lastUsed(key),
    quotaText(quotas),
    // Without the usage store, the gateway leaves out the usage.
    html`<span>
      ${usage === undefined ? '–' : formatNumber(usage.calls)}${
        usage?.errors > 0 && html`<span class=${onlyErrors ? 'bad' : 'quiet'}>${errorText}</span>`
      }
    </span>`,
  ];
}

/** The day of the last call. Without the usage store, the gateway leaves out the usage. */
function lastUsed({ usage, createdAt }) {
  if (usage === undefined) return '–';
  if (usage.lastDay !== undefined) return usage.lastDay;
  const isNew = Date.now() - Date.parse(createdAt) < LIST_USAGE_DAYS * 86_400_000;
  return html`<span class="quiet">${isNew ? 'never' : `not in ${LIST_USAGE_DAYS} days`}</span>`;
}

/** The state in words, with its day. */
function stateText({ state, revokedAt, permissions }) {
  if (state === 'revoked') return `revoked ${day(revokedAt)}`;
  if (state === 'expired') return `expired ${day(permissions.expiresAt)}`;
  return state === 'invalid' ? 'rejected: invalid record' : state;
}

/** The quota with the largest used share. */
function quotaText(quotas = []) {
  const [most] = [...quotas].sort((a, b) => b.used / b.size - a.used / a.size);
  if (most === undefined) return '–';
  const part = most.used / most.size;
  return html`<span class=${quotaStyle(part)}>${Math.floor(part * 100)} % of the ${most.period}</span>`;
}

function day(time) {
  return time.slice(0, 10);
}
