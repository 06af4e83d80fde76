'use strict';

const POLL_MS = 3000;
const HISTORY_POLL_MS = 30_000;

/** The base URL's path and the key: the page may be opened at a base URL or at an RPC address below it. */
const [, basePath, keyInPath = ''] = /^(.*?)(?:\/ws)?(?:\/v3(?:\/([^/]*))?)?\/*$/.exec(location.pathname);
const isRpcAddress = /\/v3(\/|$)/.test(location.pathname);

/** The status of the network; undefined: it is being loaded. */
let shown;
let respondedAt;

async function refresh() {
  try {
    shown = await loadJson(`${basePath}/`);
    [isLost, respondedAt] = [false, new Date()];
    source = { ...source, ...(data.hasCalls && { calls: { network: shown.networks[0].slug } }) };
    document.title = `${shown.networks[0].name} · Gatehouse`;
  } catch {
    isLost = true;
  }
  draw();
}

function view() {
  const [network] = shown?.networks ?? [];
  const summary = isLost ? lostSummary(respondedAt) : network === undefined ? ['…', 'quiet'] : summaryOf([network]);
  const docs = html`<a id="docs" href="${basePath}/docs" hidden=${!shown?.docs}>Methods of the network</a>`;
  return html`${pageHeader(network?.name ?? 'Network', ...summary, docs)}
    <p id="explanation" class="card" hidden=${!isRpcAddress}>
      This is a JSON-RPC address: clients send calls to it by POST. A browser shows the status of the network. To use
      the address, add it to a wallet or a program as shown below.
    </p>
    ${configurationView(shown?.configuration)}
    <main>
      ${network && connectView(network, addressOf(network, shown.port), decoded(keyInPath))}
      <div id="networks">${network && networkCard(network)}</div>
      ${differencesView(network?.differences ?? [])}
      ${overTimeView(rangeButtons(rangeTitles, loadOverTime), overTime && failureTable(overTime))}
      ${network && methodsView(network)}
    </main>`;
}

/** The latest results in which upstreams of the network differ. */
function differencesView(differences) {
  // Public pages do not have what callers request and get.
  const isPublic = differences.every(({ values }) => values === undefined);
  const heads = isPublic ? ['Upstreams'] : ['Block', 'Member', 'Values'];
  const rows = differences.map((difference) => {
    const { at, count, method, params = '', reason, upstreams } = difference;
    return [
      utcTime(at),
      html`<div>
        <div>${breakable(method)}</div>
        <div class="quiet">${params}</div>
      </div>`,
      ...(isPublic ? [upstreams.join(', ')] : differingCells(difference)),
      count === 1 ? reason : `${reason} (${formatNumber(count)} times)`,
    ];
  });
  return html`<section id="differences" class="card" aria-labelledby="differences-title" hidden=${rows.length === 0}>
    <h2 id="differences-title">Results that differ</h2>
    <p class="hint">
      Of audits, agree and verify, the latest first. Two upstreams cannot tell which of them is wrong when no third one
      decides.
    </p>
    <div id="difference-table">${rows.length > 0 && table(['Time', 'Method', ...heads, 'Found'], rows)}</div>
  </section>`;
}

function differingCells({ block = '–', member, values }) {
  const lines = values.map(({ upstream, value }) => html`<div class="code">${upstream}: ${value}</div>`);
  return [block, member === '' ? 'result' : member, html`<div>${lines}</div>`];
}

/** The base URL for clients: this page's own, unless the page is on the ops port. */
function addressOf({ slug, baseUrls }, port) {
  if (port === undefined) return location.origin + basePath;
  return baseUrls[0] ?? `${location.protocol}//${location.hostname}:${port}/${slug}`;
}

function methodsView(network) {
  const link = (name) =>
    html`<li>${shown.docs ? html`<a href="${basePath}/docs#${name}">${breakable(name)}</a>` : breakable(name)}</li>`;
  // Methods that the same upstreams may get.
  const rows = network.table.map(({ methods, upstreams, isPassThrough }) => [
    html`<ul>
      ${methods.map(link)}
    </ul>`,
    upstreams.length === 0 ? 'Gatehouse itself' : upstreams.join(', '),
    isPassThrough ? 'Without schema: not checked or cached, sent once.' : '',
  ]);
  return html`<section id="methods" class="card" aria-labelledby="methods-title">
    <h2 id="methods-title">Methods</h2>
    ${table(['Methods', 'Upstreams', ''], rows)}
  </section>`;
}

readRange(...Object.keys(rangeTitles));
source = { url: `${basePath}/history.json`, calls: undefined };
draw();
findWallets();
void refresh();
void loadOverTime();
poll(refresh, () => POLL_MS);
poll(loadOverTime, () => HISTORY_POLL_MS);
