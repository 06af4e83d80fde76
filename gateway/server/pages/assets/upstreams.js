'use strict';

const durations = {
  '30m': '30 minutes',
  '1h': '1 hour',
  '4h': '4 hours',
  '24h': '24 hours',
  '': 'until it is returned',
};

let upstreams = [];

async function load() {
  ({ upstreams } = await sendRequest('GET', '/upstreams'));
  draw();
}

function view() {
  const drained = upstreams.filter(({ drain }) => drain !== undefined).length;
  const troubled = upstreams.filter(({ reason, drain }) => reason !== undefined && drain === undefined).length;
  const summary = `${quantity(upstreams.length, 'upstream')}, ${troubled || 'none'} with trouble, ${drained || 'none'} drained`;
  const matches = wordFilter('filter');
  const matching = upstreams.filter(({ network, upstream, state, reason = '' }) =>
    matches(`${network} ${upstream} ${state} ${reason}`),
  );
  const filter = textInput('filter', { type: 'search', onInput: draw });
  const body = html`<section id="list-view" class="card" aria-labelledby="list-title" hidden=${token === ''}>
    <h2 id="list-title">All upstreams</h2>
    <p class="hint">
      A drained upstream gets no calls, polls or probes from any gateway, also after a restart. Calls in progress end
      normally.
    </p>
    <div class="fields">
      ${field('filter', 'Filter by network, upstream or state', filter)}
      ${field('for', 'Drain for', select('for', durations, {}, '1h'))}
    </div>
    <div id="list">
      ${
        matching.length === 0
          ? html`<p class="quiet">No upstream matches.</p>`
          : table(['Network', 'Upstream', 'State', 'Drained', ''], matching.map(row))
      }
    </div>
  </section>`;
  return adminView(pageHeader('Upstreams', token === '' ? '' : summary), body);
}

function row(one) {
  const { network, upstream, state, reason, drain } = one;
  const [style, text] = upstreamStates[state] ?? ['quiet', state];
  const act = drain === undefined ? 'Drain' : 'Return';
  return [
    html`<a href="/${network}">${network}</a>`,
    upstream,
    html`<div>
      <span class=${style}>${text}</span>
      ${reason !== undefined && drain === undefined && html`<div class="quiet">${reason}</div>`}
    </div>`,
    drain === undefined ? '–' : drainText(drain),
    html`<button
      type="button"
      aria-label="${act} ${upstream} of ${network}"
      onClick=${() => void run(() => change(one))}
    >
      ${act}
    </button>`,
  ];
}

function drainText({ at, by, until }) {
  const end = until === undefined ? 'until it is returned' : `until ${utcTime(until, 16)}`;
  return `since ${utcTime(at, 16)}, ${end}, by ${by}`;
}

async function change({ network, upstream, drain }) {
  const path = `/networks/${network}/upstreams/${encodeURIComponent(upstream)}`;
  const duration = byId('for').value;
  const result =
    drain === undefined
      ? await sendRequest('POST', `${path}/drain`, duration === '' ? {} : { for: duration })
      : await sendRequest('POST', `${path}/undrain`);
  await load();
  return withWarnings(`${upstream} of ${network} is ${drain === undefined ? 'drained' : 'in service'}.`, result);
}

openSession(load);
