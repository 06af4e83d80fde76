'use strict';

const POLL_MS = 3000;
/** With many networks, idle ones are folded, and the page polls less often. */
const MANY_NETWORKS = 8;
const MANY_POLL_MS = 10_000;

/** The base URL's path and the key: the page may be opened at a base URL or at an RPC address below it. */
const pathParts = /^(.*?)(?:\/ws)?(?:\/v3(?:\/([^/]*))?)?\/*$/.exec(location.pathname);
const base = pathParts[1];
const isRpcAddress = /\/v3(\/|$)/.test(location.pathname);

/** In the order of the files. */
let shown = [];
/** The status of each network whose row is open; undefined: it is being loaded. */
const openSlugs = new Map();
let isOne = false;
let timer;
let pollMs = POLL_MS;
let respondedAt;

async function refresh() {
  const status = await loadStatus().catch(() => undefined);
  clearTimeout(timer); // of a refresh at the same time
  timer = setTimeout(refreshIfVisible, pollMs);
  if (status === undefined) {
    showLost();
    return;
  }
  isLost = false;
  respondedAt = new Date();
  show(status);
}

async function loadStatus() {
  const response = await fetch(`${base}/`, { headers: { accept: 'application/json' } });
  if (!response.ok) throw new Error(`HTTP ${response.status}`);
  const status = await response.json();
  await loadOpen();
  return status;
}

/** Loads the networks whose rows are open. */
async function loadOpen() {
  const load = async (slug) => {
    const response = await fetch(`/${slug}/`, { headers: { accept: 'application/json' } });
    const isRemoved = response.status === 404;
    const status = isRemoved ? undefined : await response.json();
    // Its row may have been closed meanwhile.
    if (!openSlugs.has(slug)) return;
    if (isRemoved) openSlugs.delete(slug);
    else openSlugs.set(slug, status.networks[0]);
  };
  await Promise.all([...openSlugs.keys()].map(load));
}

/** The gateway does not respond: all states are shown as unknown. */
function showLost() {
  isLost = true;
  const since = respondedAt === undefined ? '' : ` It last responded at ${respondedAt.toLocaleTimeString()}.`;
  byId('summary').textContent = `▲ The gateway does not respond.${since}`;
  byId('summary').className = 'bad';
  showNetworks();
}

function refreshIfVisible() {
  if (!document.hidden) refresh();
}

function show({ scope, networks, docs, port, configuration }) {
  isOne = scope === 'network';
  const all = networks.flatMap(({ upstreams }) => upstreams);
  const failing = all.filter(isFailing).length;
  const networkCount = isOne ? '' : `${quantity(networks.length, 'network')}, `;
  byId('summary').textContent =
    `${networkCount}${quantity(all.length, 'upstream')}, ${failing === 0 ? 'none failing' : `${failing} failing`}`;
  byId('summary').className = failing === 0 ? 'quiet' : 'warn';
  shown = networks;
  pollMs = shown.length > MANY_NETWORKS ? MANY_POLL_MS : POLL_MS;
  byId('search').hidden = shown.length <= MANY_NETWORKS;
  showNetworks();
  showConfiguration(configuration);
  if (isOne) showDifferences(networks[0].differences);
  if (isOne && byId('connect').hidden) {
    const [network] = networks;
    byId('docs').hidden = !docs;
    byId('docs').href = `${base}/docs`;
    document.title = `${network.name} · Gatehouse`;
    byId('title').textContent = network.name;
    byId('explanation').hidden = !isRpcAddress;
    byId('method-list').replaceChildren(...network.methods.map((name) => methodItem(name, docs)));
    byId('method-table').replaceChildren(table(['Methods', 'Upstreams', ''], network.table.map(methodRow)));
    byId('methods').hidden = false;
    connect(network, addressOf(network, port), pathParts[2] ?? '');
  }
}

/** The latest results in which upstreams of the network differ. */
function showDifferences(differences) {
  byId('differences').hidden = differences.length === 0;
  // Public pages do not have what callers request and get.
  const isPublic = differences.every(({ values }) => values === undefined);
  const heads = isPublic ? ['Upstreams'] : ['Block', 'Member', 'Values'];
  const rows = differences.map((difference) => {
    const { at, count, method, params = '', reason, upstreams } = difference;
    return [
      utcTime(at),
      element('div', {}, element('div', {}, ...breakable(method)), element('div', { class: 'quiet' }, params)),
      ...(isPublic ? [upstreams.join(', ')] : differingCells(difference)),
      count === 1 ? reason : `${reason} (${formatNumber(count)} times)`,
    ];
  });
  byId('difference-table').replaceChildren(table(['Time', 'Method', ...heads, 'Found'], rows));
}

function differingCells({ block = '–', member, values }) {
  const lines = values.map(({ upstream, value }) => element('div', { class: 'code' }, `${upstream}: ${value}`));
  return [block, member === '' ? 'result' : member, element('div', {}, ...lines)];
}

/** Shows the networks that match the filter; of many, idle ones are folded. */
function showNetworks() {
  const words = byId('filter').value.toLowerCase().split(/\s+/);
  const matching = shown.filter((network) => words.every((word) => searchText(network).includes(word)));
  const isFolded = shown.length > MANY_NETWORKS;
  const idle = isFolded ? matching.filter(isIdle) : [];
  const rows = matching.filter((network) => !idle.includes(network));
  const focused = document.activeElement?.id || document.activeElement?.textContent;
  const tables = rows.length === 0 ? [] : [overviewTable(sorted(rows), openSlugs, changeRows)];
  byId('networks').replaceChildren(...(isOne ? rows.map((network) => networkCard(network, true)) : tables));
  // The rows are new elements.
  if (focused)
    [...byId('networks').querySelectorAll('button')].find((one) => focused === (one.id || one.textContent))?.focus();
  byId('idle').hidden = idle.length === 0;
  byId('idle-count').textContent = quantity(idle.length, 'idle network');
  byId('idle-list').replaceChildren(...idle.map(idleItem));
  byId('no-match').hidden = matching.length > 0 || shown.length === 0;
}

/** A row was opened, or the order was changed. */
async function changeRows() {
  showNetworks();
  await loadOpen().catch(showLost);
  showNetworks();
}

function searchText({ slug, name, chainId, upstreams }) {
  const states = upstreams.map((upstream) => `${upstream.name} ${upstream.state}`);
  return `${slug} ${name} ${chainId} ${states.join(' ')}`.toLowerCase();
}

function idleItem({ slug, name, chainId, upstreams }) {
  const facts = `chain ${chainId}, ${quantity(upstreams.length, 'upstream')}`;
  return element('li', {}, element('a', { href: `/${slug}` }, name), ' ', element('span', { class: 'quiet' }, facts));
}

/** Shows that the current network files are invalid: their diagnostics, and when the active ones were read. */
function showConfiguration({ loadedAt, refused: rejected }) {
  byId('configuration').hidden = rejected === null;
  if (rejected === null) return;
  const time = (text) => new Date(text).toLocaleString();
  byId('rejection').textContent =
    `▲ The network files read on ${time(rejected.at)} are invalid. The configuration of ${time(loadedAt)} is active.`;
  byId('diagnostics').replaceChildren(...rejected.mistakes.map((text) => element('li', {}, text)));
}

/** The base URL for clients: this page's own, unless the page is on the ops port. */
function addressOf({ slug, baseUrls }, port) {
  if (port === undefined) return location.origin + base;
  return baseUrls[0] ?? `${location.protocol}//${location.hostname}:${port}/${slug}`;
}

function methodItem(name, docs) {
  return element(
    'li',
    {},
    ...(docs ? [element('a', { href: `${base}/docs#${name}` }, ...breakable(name))] : breakable(name)),
  );
}

/** Methods that the same upstreams may get. */
function methodRow({ methods, upstreams, isPassThrough }) {
  return [
    element('span', {}, ...breakable(methods.join(', '))),
    upstreams.length === 0 ? 'Gatehouse itself' : upstreams.join(', '),
    isPassThrough ? 'Without schema: not checked or cached, sent once.' : '',
  ];
}

byId('filter').addEventListener('input', showNetworks);
document.addEventListener('visibilitychange', refreshIfVisible);
refresh();
