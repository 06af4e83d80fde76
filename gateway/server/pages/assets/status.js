'use strict';

const POLL_MS = 3000;
/** The latency shown is that of the last 6 buckets of 10 s. */
const LATENCY_BUCKETS = 6;

/** The base URL's path and the key: the page may be opened at a base URL or at an RPC address below it. */
const pathParts = /^(.*?)(?:\/ws)?(?:\/v3(?:\/([^/]*))?)?\/*$/.exec(location.pathname);
const base = pathParts[1];
const isRpcAddress = /\/v3(\/|$)/.test(location.pathname);

async function refresh() {
  try {
    const response = await fetch(`${base}/`, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    show(await response.json());
  } catch {
    byId('summary').textContent = 'The gateway does not respond.';
    byId('summary').className = 'bad';
  }
}

function show({ scope, networks, docs, port, configuration }) {
  const isOne = scope === 'network';
  const all = networks.flatMap(({ upstreams }) => upstreams);
  const failing = all.filter(({ state }) => state === 'failing' || state === 'other-chain').length;
  const networkCount = isOne ? '' : `${quantity(networks.length, 'network')}, `;
  byId('summary').textContent =
    `${networkCount}${quantity(all.length, 'upstream')}, ${failing === 0 ? 'none failing' : `${failing} failing`}`;
  byId('summary').className = failing === 0 ? 'quiet' : 'warn';
  byId('networks').replaceChildren(...networks.map((network) => card(network, isOne)));
  showConfiguration(configuration);
  byId('docs').hidden = !docs;
  byId('docs').href = `${base}/docs`;
  byId('home').hidden = base === '';
  if (isOne && byId('connect').hidden) {
    const [network] = networks;
    document.title = `${network.name} · Gatehouse`;
    byId('title').textContent = network.name;
    byId('explanation').hidden = !isRpcAddress;
    byId('method-list').replaceChildren(...network.methods.map((name) => methodItem(name, docs)));
    byId('method-table').replaceChildren(table(['Methods', 'Upstreams', ''], network.table.map(methodRow)));
    byId('methods').hidden = false;
    connect(network, addressOf(network, port), pathParts[2] ?? '');
  }
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

function card({ slug, name, chainId, head, headSeenS, upstreams }, isOne) {
  const title = isOne ? 'Upstreams' : element('a', { href: `/${slug}` }, name);
  const seen = head === undefined ? 'head unknown' : `block ${formatNumber(head)}, seen ${age(headSeenS)} ago`;
  return element(
    'section',
    { class: 'card' },
    element(
      'div',
      { class: 'row' },
      element('h2', {}, title),
      element('span', { class: 'quiet facts' }, element('span', {}, `chain ${chainId}`), element('span', {}, seen)),
    ),
    table(['Upstream', 'State', 'Block', 'Behind', 'Latency', 'Last 10 minutes'], upstreams.map(upstreamRow)),
  );
}

const states = {
  up: ['good', '● up'],
  unused: ['quiet', '○ unused'],
  failing: ['bad', '▲ failing'],
  'other-chain': ['bad', '▲ wrong chain'],
};

/** A method that is sent to other upstreams first, with the reason and the remaining time. */
function markLine({ method, reason, forS }) {
  return element('div', { class: 'warn' }, `${method}: ${reason}, for ${age(forS)}`);
}

/** Why a read at `latest` skips the upstream. */
function skipLine(skipReason) {
  if (skipReason === undefined) return [];
  // The operator has excluded it.
  return [element('div', { class: skipReason === 'excluded' ? 'quiet' : 'warn' }, `skipped: ${skipReason}`)];
}

function upstreamRow({ name, state, skipReason, head, lag, history, marks }) {
  const [style, label] = states[state] ?? ['quiet', state];
  const last = history.slice(-LATENCY_BUCKETS);
  const requests = last.reduce((sum, bucket) => sum + bucket.sent, 0);
  const seconds = last.reduce((sum, bucket) => sum + bucket.seconds, 0);
  return [
    name,
    element('div', {}, element('span', { class: style }, label), ...skipLine(skipReason), ...marks.map(markLine)),
    head === undefined ? '–' : formatNumber(head),
    lag === undefined ? '–' : lag === 0 ? 'none' : formatNumber(lag),
    requests === 0 ? '–' : `${Math.max(1, Math.round((seconds / requests) * 1000))} ms`,
    sparkline(history),
  ];
}

/** Draws the requests of each bucket and the failed ones as bars, with a title for screen readers. */
function sparkline(history) {
  const requests = history.reduce((sum, bucket) => sum + bucket.sent, 0);
  const failed = history.reduce((sum, bucket) => sum + bucket.failed, 0);
  const title = requests === 0 ? 'no requests' : `${formatNumber(failed)} of ${formatNumber(requests)} requests failed`;
  const maxRequests = Math.max(1, ...history.map((bucket) => bucket.sent));
  const svg = svgElement('svg', { class: 'spark', viewBox: '0 0 120 24', preserveAspectRatio: 'none', role: 'img' });
  svg.append(
    svgElement('title', {}, title),
    svgElement('line', { class: 'ground', x1: 0, x2: 120, y1: 23.5, y2: 23.5 }),
  );
  history.forEach((bucket, index) => {
    const x = 120 - 2 * (history.length - index);
    for (const [kind, value] of Object.entries({ requests: bucket.sent, failed: bucket.failed })) {
      // Even one failure among thousands of requests is visible.
      const height = value === 0 ? 0 : Math.max(2, (Math.min(value, bucket.sent) / maxRequests) * 23);
      if (height > 0) svg.append(svgElement('rect', { class: kind, x, y: 24 - height, width: 1.6, height }));
    }
  });
  return svg;
}

function age(seconds) {
  if (seconds < 120) return `${seconds} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
}

refresh();
setInterval(() => {
  if (!document.hidden) refresh();
}, POLL_MS);
document.addEventListener('visibilitychange', () => {
  if (!document.hidden) refresh();
});
