'use strict';

/** Shows how a call got its response: skipped upstreams, and attempts as bars on a line of time. */
function explanationView(call, durationMs) {
  const { cache, skipped = {}, attempts = [], parts = [], moreParts, audit, overBudget = [], requestUnits } = call;
  const facts = [
    ...(requestUnits === undefined ? [] : [quantity(requestUnits, 'request unit')]),
    ...(cache === undefined ? [] : [cacheFacts[cache] ?? `cache: ${cache}`]),
    ...overBudget.map((what) => `no ${what}: the retry budget of the network was used up`),
    ...(audit === undefined ? [] : [`audit: ${audit.outcome}, ${audit.reason}`]),
  ];
  return element(
    'div',
    { class: 'explanation' },
    ...(facts.length === 0 ? [] : [element('p', { class: 'quiet' }, facts.join('; '))]),
    attemptTable(skipped, attempts, durationMs),
    ...parts.map(partView),
    ...(moreParts === undefined ? [] : [element('p', { class: 'quiet' }, `and ${quantity(moreParts, 'more part')}`)]),
  );
}

const cacheFacts = {
  hit: 'from the cache',
  miss: 'not in the cache',
  coalesced: 'joined an identical call in progress, whose attempts are not shown here',
  'not-cacheable': 'such responses are not cached',
  off: 'the cache is off',
};

function partView({ from, to, outcome, cache, skipped, attempts = [] }) {
  const cached = cache === 'hit' ? ', from the cache' : '';
  return element(
    'div',
    {},
    element('p', {}, `Blocks ${formatNumber(from)} to ${formatNumber(to)}: ${outcome ?? 'in progress'}${cached}`),
    attemptTable(skipped ?? {}, attempts, undefined),
  );
}

/** A row for each skipped upstream, then one for each attempt. */
function attemptTable(skipped, attempts, durationMs) {
  const ends = attempts.map(({ atMs, ms = 0 }) => atMs + ms);
  const totalMs = Math.max(1, durationMs ?? 0, ...ends);
  const skippedRows = Object.entries(skipped).map(([name, reason]) => [
    name,
    element('span', { class: 'quiet' }, `skipped: ${reason}`),
    '',
  ]);
  const attemptRows = attempts.map((attempt) => [
    attempt.upstream,
    element('span', { class: isUsable(attempt.outcome) ? 'good' : 'warn' }, attemptText(attempt)),
    attemptBar(attempt, totalMs),
  ]);
  if (skippedRows.length + attemptRows.length === 0) {
    return element('p', { class: 'quiet' }, 'Nothing was sent to an upstream.');
  }
  return table(['Upstream', 'Outcome', `Time, 0 to ${formatNumber(totalMs)} ms`], [...skippedRows, ...attemptRows]);
}

function isUsable(outcome) {
  return outcome === 'response' || outcome === 'cancelled';
}

function attemptText({ atMs, ms, outcome = 'in progress', hedge }) {
  const time =
    ms === undefined ? `from ${formatNumber(atMs)} ms` : `${formatNumber(ms)} ms, from ${formatNumber(atMs)} ms`;
  return `${hedge === true ? 'hedge, ' : ''}${outcome}: ${time}`;
}

function attemptBar({ upstream, atMs, ms = 0, outcome }, totalMs) {
  const svg = svgElement('svg', { class: 'bar', viewBox: '0 0 1000 16', preserveAspectRatio: 'none', role: 'img' });
  const x = (1000 * atMs) / totalMs;
  svg.append(
    svgElement('title', {}, `${upstream}: ${formatNumber(atMs)} ms to ${formatNumber(atMs + ms)} ms`),
    svgElement('line', { class: 'ground', x1: 0, x2: 1000, y1: 8, y2: 8 }),
    svgElement('rect', {
      class: isUsable(outcome) ? 'used' : 'failed',
      ...{ x, y: 3, width: Math.max(6, (1000 * ms) / totalMs), height: 10 },
    }),
  );
  return svg;
}
