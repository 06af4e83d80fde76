'use strict';

const POLL_MS = 3000;
/** The last so many slices of ten seconds make the latency that is shown. */
const LATENCY_SLICES = 6;

/** Where the page was opened, without what stands behind the base URL there: an address of JSON-RPC, or a slash. */
const place = /^(.*?)(?:\/ws)?(?:\/v3(?:\/([^/]*))?)?\/*$/.exec(location.pathname);
const base = place[1];
const isAddress = /\/v3(\/|$)/.test(location.pathname);

async function refresh() {
  try {
    const response = await fetch(`${base}/`, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    show(await response.json());
  } catch {
    byId('summary').textContent = 'The gateway does not answer at the moment.';
    byId('summary').className = 'bad';
  }
}

function show({ scope, networks, docs, port, configuration }) {
  const isOne = scope === 'network';
  const all = networks.flatMap(({ upstreams }) => upstreams);
  const failing = all.filter(({ state }) => state === 'failing' || state === 'other-chain').length;
  const networksToo = isOne ? '' : `${many(networks.length, 'network')}, `;
  byId('summary').textContent =
    `${networksToo}${many(all.length, 'upstream')}, ${failing === 0 ? 'none of them failing' : `${failing} failing`}`;
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
    byId('explanation').hidden = !isAddress;
    byId('method-list').replaceChildren(...network.methods.map((name) => methodItem(name, docs)));
    byId('methods').hidden = false;
    connect(network, addressOf(network, port), place[2] ?? '');
  }
}

/** Where the files as they are now were refused: since when the others are in force, and where the mistakes are. */
function showConfiguration({ loadedAt, refused }) {
  byId('configuration').hidden = refused === null;
  if (refused === null) return;
  const time = (text) => new Date(text).toLocaleString();
  byId('refusal').textContent =
    `▲ Network files of ${time(refused.at)} were refused. Those of ${time(loadedAt)} are in force.`;
  byId('mistakes').replaceChildren(...refused.mistakes.map((text) => element('li', {}, text)));
}

/** The base URL to give to programs: this page's own, unless it is on the port for operators. */
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

function card({ slug, name, chainId, head, headSeenS, upstreams }, isOne) {
  const title = isOne ? 'Upstreams' : element('a', { href: `/${slug}` }, name);
  const seen = head === undefined ? 'not asked yet' : `block ${count(head)}, seen ${age(headSeenS)} ago`;
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
  up: ['good', '● answers'],
  unused: ['quiet', '○ not asked yet'],
  failing: ['bad', '▲ failing'],
  'other-chain': ['bad', '▲ another chain'],
};

/** Methods for which other upstreams are asked first, and why. */
function markLine({ method, reason, forS }) {
  return element('div', { class: 'warn' }, `${method}: ${reason}, for ${age(forS)}`);
}

function upstreamRow({ name, state, head, lag, history, marks }) {
  const [style, words] = states[state] ?? ['quiet', state];
  const last = history.slice(-LATENCY_SLICES);
  const asked = last.reduce((sum, slice) => sum + slice.sent, 0);
  const seconds = last.reduce((sum, slice) => sum + slice.seconds, 0);
  return [
    name,
    element('div', {}, element('span', { class: style }, words), ...marks.map(markLine)),
    head === undefined ? '–' : count(head),
    lag === undefined ? '–' : lag === 0 ? 'none' : count(lag),
    asked === 0 ? '–' : `${Math.max(1, Math.round((seconds / asked) * 1000))} ms`,
    sparkline(history),
  ];
}

/** Requests in each slice, and which of them failed, as bars; in words for who does not see them. */
function sparkline(history) {
  const asked = history.reduce((sum, slice) => sum + slice.sent, 0);
  const failed = history.reduce((sum, slice) => sum + slice.failed, 0);
  const words = asked === 0 ? 'nothing asked' : `${count(failed)} of ${count(asked)} requests failed`;
  const most = Math.max(1, ...history.map((slice) => slice.sent));
  const svg = drawn('svg', { class: 'spark', viewBox: '0 0 120 24', preserveAspectRatio: 'none', role: 'img' });
  svg.append(drawn('title', {}, words), drawn('line', { class: 'ground', x1: 0, x2: 120, y1: 23.5, y2: 23.5 }));
  history.forEach((slice, index) => {
    const x = 120 - 2 * (history.length - index);
    for (const kind of ['asked', 'failed']) {
      // One that failed among thousands is to be seen, too.
      const height = slice[kind] === 0 ? 0 : Math.max(2, (Math.min(slice[kind], slice.sent) / most) * 23);
      if (height > 0) svg.append(drawn('rect', { class: kind, x, y: 24 - height, width: 1.6, height }));
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
