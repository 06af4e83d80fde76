'use strict';

/** Outcomes in words; others are shown as they are. */
const permissionOutcomes = new Set(['key-settings', 'secret-invalid', 'key-invalid']);
const heads = ['Time', 'Key', 'Network', 'Method', 'Outcome', 'Served by', 'Why', 'Time taken', ''];

/** Rows, and the value of RECENT_CALLS_PARAMS; undefined: they are being loaded. */
let loaded;
let upstreams = [];
/** The rows whose details are shown. */
let opened = new Set();

function load() {
  return loadRows('/calls', (rows) => {
    loaded = rows;
    opened = new Set();
    draw();
  });
}

function view() {
  const { calls = [], params } = loaded ?? {};
  const outcomes = { '': 'all', ...sameTexts(data.outcomes.toSorted()) };
  const valuesOf = (rows, name) => rows.map((row) => row[name]);
  const time = { class: 'code', placeholder: '2026-01-31T12:00Z' };
  const controls = {
    key: ['Key id', filterInput('key', valuesOf(calls, 'key'), { class: 'code' })],
    network: ['Network', filterInput('network', valuesOf(upstreams, 'network'))],
    method: ['Method', filterInput('method', valuesOf(calls, 'method'))],
    outcome: ['Outcome', filterSelect('outcome', outcomes)],
    upstream: ['Upstream', filterInput('upstream', valuesOf(upstreams, 'upstream'))],
    request: ['Request id', filterInput('request', [], { class: 'code' })],
    from: ['From, in UTC', filterInput('from', [], time)],
    to: ['Before, in UTC', filterInput('to', [], time)],
  };
  const clear = () => {
    for (const input of byId('filters').elements) input.value = '';
    byId('filters').requestSubmit();
  };
  const body = html`<section class="card" aria-label="Latest calls">
    <p class="hint">
      All rejected and failed calls of this gateway, equal ones of one minute in one row, and a sample of the others.
    </p>
    ${filterForm(load, controls, html`<button id="clear" type="button" onClick=${clear}>Clear</button>`)}
    <div id="calls">${calls.length > 0 && table(heads, calls.flatMap(callRows))}</div>
    <p id="none" class="quiet" hidden=${loaded === undefined || calls.length > 0}>No call matches.</p>
  </section>`;
  const summary = loaded === undefined ? '' : `${quantity(calls.length, 'row')}, parameters ${params}`;
  return adminView(pageHeader('Calls', summary), body);
}

/** A row, and its details if they are open. */
function callRows(call) {
  const { at, count, key, keyName, network = '–', method = '–', outcome, ms } = call;
  const times = count > 1 ? ` × ${formatNumber(count)}` : '';
  const isOpen = opened.has(call);
  const toggle = () => {
    if (!opened.delete(call)) opened.add(call);
    draw();
  };
  const cells = [
    shortTime(at),
    key === undefined
      ? 'no valid key'
      : html`<a href="/keys#${key}" title=${key} class=${keyName === undefined ? 'code' : ''}>${keyName ?? key}</a>`,
    titled(network),
    titled(method),
    html`<span class=${data.served.includes(outcome) ? 'good' : 'bad'}>${outcome}${times}</span>`,
    titled(servedBy(call)),
    titled(whyText(call)),
    `${formatNumber(ms)} ms`,
    html`<button
      type="button"
      aria-expanded=${isOpen}
      aria-label="Details of ${call.method ?? 'request'} at ${at}"
      onClick=${toggle}
    >
      Details
    </button>`,
  ];
  return openableRow(heads, cells, isOpen ? callDetails(call) : undefined);
}

/** A text that may be cut off. */
function titled(text) {
  return html`<span title=${text}>${text}</span>`;
}

/** The upstream whose response the call got. */
function servedBy({ outcome, explanation }) {
  const { attempts = [], cache } = explanation ?? {};
  const served = attempts.findLast((attempt) => isUsable(attempt.outcome))?.upstream;
  if (served !== undefined) return served;
  return cache === 'hit' && data.served.includes(outcome) ? 'the cache' : '–';
}

/** The rule that rejected the call with its value, else the failures of its attempts. */
function whyText({ outcome, rule, ruleValue, received, unitsLeft, problem, explanation }) {
  if (problem !== undefined) return problem;
  const value = ruleValue === undefined ? '' : ` ${ruleValue}`;
  if (rule !== undefined && unitsLeft !== undefined)
    return `limit ${rule}${value}: ${quantity(unitsLeft, 'unit')} left`;
  if (rule === 'origins') return `permission origins${value}: received ${received ?? 'no Origin'}`;
  if (rule !== undefined) return `${permissionOutcomes.has(outcome) ? 'permission' : 'bound'} ${rule}${value}`;
  const { attempts = [], skipped = {} } = explanation ?? {};
  const failed = attempts.filter((attempt) => !isUsable(attempt.outcome));
  const texts = [
    ...failed.map((attempt) => `${attempt.upstream}: ${attempt.outcome ?? 'in progress'}`),
    ...Object.entries(skipped).map(([upstream, reason]) => `${upstream}: skipped, ${reason}`),
  ];
  return texts.join('; ');
}

function callDetails(call) {
  const { requestId, key, keyName, network, code, params, explanation, ms } = call;
  const facts = { request: requestId, key: keyName ?? key, network, '': whyText(call) || undefined };
  const texts = Object.entries({ ...facts, 'error code': code, parameters: params })
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${name} ${value}`.trim());
  return html`<div>
    <p class="quiet">${texts.join('; ')}</p>
    ${
      explanation === undefined
        ? html`<p class="quiet">It was rejected before anything was sent to an upstream.</p>`
        : explanationView(explanation, ms)
    }
  </div>`;
}

openSession(async () => {
  // The networks and upstreams of the gateway are suggested, also those that no row has.
  ({ upstreams } = await sendRequest('GET', '/upstreams'));
  await load();
});
