'use strict';

const POLL_MS = 30_000;
const TOP_ROWS = 10;

/** The status of all networks; undefined: the port has none. */
let shown;
/** The usage by key and by method, with its range, or why it cannot be loaded. Without range, it is being loaded. */
let usage = { range: undefined, keys: [], methods: [] };
const loadLatestUsage = latestLoad();

/** Loads the usage of all keys: when the range is chosen, because it is much for a poll. */
function loadUsage() {
  const requestedRange = range;
  const read = async (by, signal) => {
    const path = `/usage?days=${daysOf(requestedRange)}&by=${by}&limit=${TOP_ROWS}`;
    return (await sendRequest('GET', path, undefined, signal)).usage;
  };
  return loadLatestUsage(
    async (signal) => {
      try {
        const [keys, methods] = await Promise.all([read('key', signal), read('method', signal)]);
        return { keys, methods };
      } catch (error) {
        // Without Redis, the status and the history are there.
        if (isLocked(error)) throw error;
        return { keys: [], methods: [], error };
      }
    },
    (loaded) => {
      usage = { range: requestedRange, ...loaded };
      draw();
    },
  );
}

async function loadStatus() {
  if (!data.hasStatus) return;
  [shown] = await Promise.all([loadJson('/'), loadOverTime()]);
  draw();
}

async function loadAll() {
  await Promise.all([loadUsage(), loadStatus()]);
}

async function loadAgain() {
  await Promise.all([loadStatus(), usage.error && loadUsage()]);
}

function view() {
  const networks = shown?.networks ?? [];
  const troubled = networks.filter((network) => troubleOf(network) > 0);
  const summary = data.hasStatus ? summaryOf(networks, `${quantity(networks.length, 'network')}, `) : ['', 'quiet'];
  const body = html`${rangeButtons(rangeTitles, () => reload(loadAll))}
    <section id="totals" class="card" aria-label="Calls">
      ${data.hasStatus ? totalsView(overTime?.total) : html`<p class="quiet">STATUS_PAGE is off: there is no history.</p>`}
    </section>
    ${configurationView(shown?.configuration)}
    <section id="trouble" class="card" aria-labelledby="trouble-title" hidden=${!data.hasStatus}>
      <h2 id="trouble-title">Networks in trouble</h2>
      ${troubled.length === 0 ? html`<p class="good">● None of ${quantity(networks.length, 'network')}</p>` : troubleTable(troubled)}
    </section>
    ${data.hasStatus && overTimeView()}
    <div class="columns">
      ${topView('Top keys', usage.keys, 'Key', keyLink)} ${topView('Top methods', usage.methods, 'Method', methodLink)}
    </div>`;
  return adminView(pageHeader('Overview', ...summary), body);
}

/** The calls of the range in numbers. @param total undefined: it is being loaded; a number is null: it is unknown */
function totalsView(total = {}) {
  const calls = total.calls ?? 0;
  const part = (count) => {
    const percent = (100 * count) / calls;
    // Even one failure among many calls is visible.
    return `${formatNumber(count)}, ${calls === 0 ? '–' : `${percent > 0 && percent < 0.1 ? '< 0.1' : percent.toFixed(1)} %`}`;
  };
  const ms = (value) => (typeof value === 'number' ? milliseconds(value) : '–');
  const numbers = {
    Calls: formatNumber(calls),
    Failed: part(total.failed ?? 0),
    'Upstream errors': part(total.upstreamErrors ?? 0),
    Rejected: part(total.rejected ?? 0),
    'Latency, median': ms(total.p50Ms),
    'Latency, 99 %': ms(total.p99Ms),
  };
  return html`<h2>Last ${rangeTitles[overTime?.range ?? range]}</h2>
    <dl>
      ${Object.entries(numbers).map(
        ([name, text]) =>
          html`<div>
            <dt>${name}</dt>
            <dd>${text}</dd>
          </div>`,
      )}
    </dl>`;
}

function troubleTable(networks) {
  const rows = networks
    .toSorted((one, other) => troubleOf(other) - troubleOf(one))
    .map((network) => [
      html`<a href="/${network.slug}?range=${range}">${network.name}</a>`,
      stateCell(network),
      upstreamsCell(network),
      html`<a href="/events?network=${network.slug}">Events</a>`,
      html`<a href="/calls?network=${network.slug}">Calls</a>`,
    ]);
  return table(['Network', 'State', 'Upstreams', '', ''], rows, { class: 'networks' });
}

/** The rows with the most request units. */
function topView(title, rows, head, link) {
  const { range: shownRange = range, error } = usage;
  const days = daysOf(shownRange);
  const isNone = usage.range !== undefined && error === undefined && rows.length === 0;
  const id = title.toLowerCase().replace(' ', '-');
  const cells = rows.map((row) => [link(row), ...[row.units, row.calls, row.errors].map(formatNumber)]);
  return html`<section id=${id} class="card" aria-labelledby="${id}-title">
    <h2 id="${id}-title">${title}, ${days === 1 ? 'today (UTC)' : `${days} days`}</h2>
    ${error && html`<p class="bad">The usage cannot be loaded: ${error.message}.</p>`}
    ${isNone && html`<p class="quiet">No calls yet.</p>`}
    ${rows.length > 0 && table([head, 'Units', 'Calls', 'Errors'], cells)}
    <p>
      <a href="/usage?by=${head.toLowerCase()}&range=${days === 1 ? '24h' : shownRange}">All, with days and CSV</a>
    </p>
  </section>`;
}

function methodLink({ method }) {
  return html`<a href="/calls?method=${method}"><code>${breakable(method)}</code></a>`;
}

readRange('24h', ...Object.keys(rangeTitles));
source = { url: '/history.json', calls: {} };
openSession(loadAll, POLL_MS, loadAgain);
