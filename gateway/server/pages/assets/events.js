'use strict';

const POLL_MS = 5_000;
const kinds = {
  '': 'all',
  upstream: 'upstream',
  network: 'network',
  'key-store': 'key store',
  memory: 'memory',
  'network-files': 'network files',
  audit: 'audit',
  admin: 'admin operation',
  gateway: 'gateway',
};

/** Events; undefined: they are being loaded. */
let events;

function load() {
  return loadRows('/events', (rows) => {
    ({ events } = rows);
    draw();
  });
}

function view() {
  const rows = events ?? [];
  const lasting = rows.filter(({ endedAt }) => endedAt === null).length;
  const summary = lasting === 0 ? ['no trouble now', 'quiet'] : [`${quantity(lasting, 'trouble')} now`, 'warn'];
  const valuesOf = (name) => rows.map((row) => row[name]);
  const controls = {
    kind: ['Kind', filterSelect('kind', kinds)],
    network: ['Network', filterInput('network', valuesOf('network'))],
    upstream: ['Upstream', filterInput('upstream', valuesOf('upstream'))],
  };
  const heads = ['Began', 'Kind', 'Network', 'Upstream', 'What', 'Lasted', 'Times'];
  const body = html`<section class="card" aria-label="Latest events">
    ${filterForm(load, controls)}
    <div id="events">${rows.length > 0 && table(heads, rows.map(eventRow))}</div>
    <p id="none" class="quiet" hidden=${events === undefined || rows.length > 0}>
      No event since the start of the gateway matches.
    </p>
  </section>`;
  return adminView(pageHeader('Events', ...(events === undefined ? ['', 'quiet'] : summary)), body);
}

function eventRow({ at, kind, network = '', upstream = '', reason, by, endedAt, forS, count }) {
  const style = endedAt === null ? 'bad' : endedAt === undefined ? 'quiet' : 'good';
  const lasted = endedAt === null ? `▲ ${age(forS)}, lasts` : endedAt === undefined ? '' : `● ${age(forS)}, ended`;
  return [
    shortTime(at),
    kind,
    network === '' ? '' : html`<a href="/${network}">${network}</a>`,
    upstream,
    by === undefined ? reason : `${reason}, by ${by}`,
    html`<span class=${style}>${lasted}</span>`,
    count > 1 ? formatNumber(count) : '',
  ];
}

openSession(load, POLL_MS);
