'use strict';

const cacheFacts = {
  hit: 'from the cache',
  miss: 'not in the cache',
  coalesced: 'joined an identical call in progress, whose attempts are not shown here',
  'not-cacheable': 'such responses are not cached',
  off: 'the cache is off',
};

/** Explanation of a call: skipped upstreams, and attempts as bars on a line of time. */
function explanationView(call, durationMs) {
  const { cache, skipped = {}, attempts = [], parts = [], moreParts, audit, overBudget = [], requestUnits } = call;
  const facts = [
    ...(requestUnits === undefined ? [] : [quantity(requestUnits, 'request unit')]),
    ...(cache === undefined ? [] : [cacheFacts[cache] ?? `cache: ${cache}`]),
    ...overBudget.map((what) => `no ${what}: the retry budget of the network was used up`),
    ...(audit === undefined ? [] : [`audit: ${audit.outcome}, ${audit.reason}`]),
  ];
  return html`<div class="explanation">
    ${facts.length > 0 && html`<p class="quiet">${facts.join('; ')}</p>`} ${attemptTable(skipped, attempts, durationMs)}
    ${parts.map(partView)} ${moreParts && html`<p class="quiet">and ${quantity(moreParts, 'more part')}</p>`}
  </div>`;
}

function partView({ from, to, outcome = 'in progress', cache, skipped = {}, attempts = [] }) {
  const cached = cache === 'hit' ? ', from the cache' : '';
  return html`<div>
    <p>Blocks ${formatNumber(from)} to ${formatNumber(to)}: ${outcome}${cached}</p>
    ${attemptTable(skipped, attempts, undefined)}
  </div>`;
}

/** A row for each skipped upstream, then one for each attempt. */
function attemptTable(skipped, attempts, durationMs) {
  const totalMs = Math.max(1, durationMs ?? 0, ...attempts.map(({ atMs, ms = 0 }) => atMs + ms));
  const rows = [
    ...Object.entries(skipped).map(([name, reason]) => [name, html`<span class="quiet">skipped: ${reason}</span>`, '']),
    ...attempts.map((attempt) => [
      attempt.upstream,
      html`<span class=${isUsable(attempt.outcome) ? 'good' : 'warn'}>${attemptText(attempt)}</span>`,
      attemptBar(attempt, totalMs),
    ]),
  ];
  if (rows.length === 0) return html`<p class="quiet">Nothing was sent to an upstream.</p>`;
  return table(['Upstream', 'Outcome', `Time, 0 to ${formatNumber(totalMs)} ms`], rows);
}

function isUsable(outcome) {
  return outcome === 'response' || outcome === 'cancelled';
}

function attemptText({ atMs, ms, outcome = 'in progress', hedge }) {
  const time = `${ms === undefined ? '' : `${formatNumber(ms)} ms, `}from ${formatNumber(atMs)} ms`;
  return `${hedge === true ? 'hedge, ' : ''}${outcome}: ${time}`;
}

function attemptBar({ upstream, atMs, ms = 0, outcome }, totalMs) {
  const [x, width] = [(1000 * atMs) / totalMs, Math.max(6, (1000 * ms) / totalMs)];
  return html`<svg class="bar" viewBox="0 0 1000 16" preserveAspectRatio="none" role="img">
    <title>${upstream}: ${formatNumber(atMs)} ms to ${formatNumber(atMs + ms)} ms</title>
    <line class="ground" x1="0" x2="1000" y1="8" y2="8" />
    <rect class=${isUsable(outcome) ? 'used' : 'failed'} x=${x} y="3" width=${width} height="10" />
  </svg>`;
}
