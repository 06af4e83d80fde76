'use strict';

const PAGE_KEYS = 50;
const LIST_USAGE_DAYS = 7;
const SEARCH_DELAY_MS = 200;

const columns = [
  { title: 'Name', sort: 'name' },
  { title: 'Team', sort: 'team' },
  { title: 'Created', sort: 'created' },
  { title: 'State', sort: 'state' },
  { title: 'Last used' },
  { title: 'Quota used' },
  { title: 'Calls, 7 days', sort: 'use' },
];
const stateStyles = { active: 'good', development: 'good', invalid: 'bad' };

let offset = 0;
/** Keys of the page that can be selected, by id. */
let selectable = new Map();
/** Aborts the request for the list that was sent last. */
let loading = new AbortController();
let searchTimer;

/**
 * Loads the page of the list that the search, the order and the offset say, and aborts the request before. A failure is
 * shown in the list.
 */
async function showList() {
  clearTimeout(searchTimer);
  loading.abort();
  loading = new AbortController();
  const { signal } = loading;
  byId('list').setAttribute('aria-busy', 'true');
  const parts = { search: byId('search').value.trim(), sort: byId('sort').value, offset, limit: PAGE_KEYS };
  const team = byId('team').value;
  const path = `/keys?${new URLSearchParams({ ...parts, ...(team !== '' && { team }), days: LIST_USAGE_DAYS })}`;
  const result = await sendRequest('GET', path, undefined, signal).catch((error) => ({ error }));
  if (signal.aborted) return;
  if (result.error === undefined && result.keys.length === 0 && offset > 0) {
    // The last page has become empty.
    offset = Math.max(0, Math.ceil(result.matching / PAGE_KEYS) - 1) * PAGE_KEYS;
    await showList();
    return;
  }
  byId('list-failure').hidden = result.error === undefined;
  byId('list-error').textContent =
    result.error === undefined ? '' : `The list cannot be loaded. ${result.error.message}`;
  showPage(result.error === undefined ? result : { keys: [], matching: 0 }, parts.search || team);
  byId('list').removeAttribute('aria-busy');
}

function showPage({ keys, matching, total, active }, search) {
  selectable = new Map(keys.filter(({ state }) => state !== 'revoked').map((key) => [key.id, key]));
  const isEmpty = keys.length === 0;
  const none = search === '' ? 'No keys yet.' : `No key matches “${search}”.`;
  byId('list').replaceChildren(
    isEmpty ? element('p', { class: 'quiet' }, total === undefined ? '' : none) : keyTable(keys),
  );
  if (total !== undefined) byId('summary').textContent = `${quantity(total, 'key')}, ${formatNumber(active)} active`;
  byId('bulk').hidden = selectable.size === 0;
  byId('pages').hidden = isEmpty;
  byId('range').textContent =
    `${formatNumber(offset + 1)} to ${formatNumber(offset + keys.length)} of ${formatNumber(matching)}`;
  byId('previous').setAttribute('aria-disabled', String(offset === 0));
  byId('next').setAttribute('aria-disabled', String(offset + keys.length >= matching));
  byId('select-all').checked = false;
  showSelection();
}

function keyTable(keys) {
  const [order, direction] = orderOf(byId('sort').value);
  const heads = columns.map(({ title, sort }) => {
    if (sort === undefined) return element('th', { scope: 'col' }, title);
    const sorted = sort === order ? direction : undefined;
    const mark = { ascending: ' ↑', descending: ' ↓' }[sorted] ?? '';
    const button = element('button', { type: 'button', click: () => sortBy(sort) }, title, mark);
    return element('th', { scope: 'col', 'aria-sort': sorted }, button);
  });
  const created = table(['', ...columns.map(({ title }) => title)], keys.map(keyCells));
  created.tHead.rows[0].replaceChildren(element('td'), ...heads);
  return created;
}

function keyCells(key) {
  const { id, name, permissions, createdAt, state, usage, quotas } = key;
  const box = element('input', { type: 'checkbox', value: id, 'aria-label': `Select ${name}`, change: showSelection });
  const onlyErrors = usage?.errors > 0 && usage.errors >= usage.calls;
  const errorText = onlyErrors ? ', ▲ all errors' : `, ${quantity(usage?.errors ?? 0, 'error')}`;
  const errors = usage?.errors > 0 ? element('span', { class: onlyErrors ? 'bad' : 'quiet' }, errorText) : '';
  // Without the usage store, the gateway leaves out the usage.
  const calls = usage === undefined ? '–' : formatNumber(usage.calls);
  return [
    selectable.has(id) ? box : '',
    element('div', {}, element('a', { href: `#${id}` }, name), ' ', element('code', { class: 'quiet' }, id)),
    permissions?.team === undefined ? '–' : teamLink(permissions.team),
    day(createdAt),
    element('span', { class: stateStyles[state] ?? 'quiet' }, stateText(key)),
    lastUsed(key),
    quotaText(quotas),
    element('span', {}, calls, errors),
  ];
}

/** The day of the last call. Without the usage store, the gateway leaves out the usage. */
function lastUsed({ usage, createdAt }) {
  if (usage === undefined) return '–';
  if (usage.lastDay !== undefined) return usage.lastDay;
  const isNew = Date.now() - Date.parse(createdAt) < LIST_USAGE_DAYS * 86_400_000;
  return element('span', { class: 'quiet' }, isNew ? 'never' : `not in ${LIST_USAGE_DAYS} days`);
}

/** The order and the direction of `-name`. */
function orderOf(value) {
  return value.startsWith('-') ? [value.slice(1), 'descending'] : [value, 'ascending'];
}

function sortBy(order) {
  const { value } = byId('sort');
  const index = columns.findIndex(({ sort }) => sort === order);
  // The most calls are of more interest than the fewest.
  const isFirstUse = order === 'use' && value !== '-use';
  byId('sort').value = isFirstUse || value === order ? `-${order}` : order;
  offset = 0;
  // The table is new: the button of the same column gets the focus.
  void showList().then(() => byId('list').querySelector('thead')?.rows[0].cells[index + 1].firstChild.focus());
}

function selectedKeys() {
  const boxes = [...byId('list').querySelectorAll('tbody input:checked')];
  return boxes.map(({ value }) => selectable.get(value)).filter((key) => key !== undefined);
}

function showSelection() {
  const count = selectedKeys().length;
  byId('selected-count').textContent = count === 0 ? 'None selected' : `${formatNumber(count)} selected`;
  byId('revoke-selected').disabled = count === 0;
  byId('select-all').checked = count > 0 && count === selectable.size;
}

function turnPage(button, step) {
  if (byId(button).getAttribute('aria-disabled') === 'true') return;
  offset += step;
  void showList();
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
  const share = most.used / most.size;
  const style = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : 'quiet';
  return element('span', { class: style }, `${Math.floor(share * 100)} % of the ${most.period}`);
}

function teamLink(team) {
  return element('a', { href: `#team:${team}` }, team);
}

/** Fills the filter by team. */
function fillTeams() {
  const { value } = byId('team');
  const options = choices.teams.map((team) => element('option', { value: team }, team));
  byId('team').replaceChildren(element('option', { value: '' }, 'all'), ...options);
  byId('team').value = choices.teams.includes(value) ? value : '';
}

function day(time) {
  return time.slice(0, 10);
}

byId('search').addEventListener('input', () => {
  offset = 0;
  byId('list').setAttribute('aria-busy', 'true');
  loading.abort();
  clearTimeout(searchTimer);
  searchTimer = setTimeout(() => void showList(), SEARCH_DELAY_MS);
});
for (const id of ['sort', 'team']) {
  byId(id).addEventListener('change', () => {
    offset = 0;
    void showList();
  });
}
byId('select-all').addEventListener('change', ({ target }) => {
  for (const box of byId('list').querySelectorAll('tbody input')) box.checked = target.checked;
  showSelection();
});
byId('revoke-selected').addEventListener('click', () => {
  confirmRevocation(selectedKeys(), async () => {
    await showList();
    byId('list-title').focus();
  });
});
byId('previous').addEventListener('click', () => turnPage('previous', -PAGE_KEYS));
byId('next').addEventListener('click', () => turnPage('next', PAGE_KEYS));
byId('retry').addEventListener('click', () => void showList());
