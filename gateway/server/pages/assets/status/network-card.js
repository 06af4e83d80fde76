'use strict';

/** Less is measured until the upstream has been used for a day. */
const DAY_S = 86_000;
/** The latency shown is that of the last 2 steps of 30 s. */
const LATENCY_STEPS = 2;
/** The bars show the last 20 steps. */
const BAR_WIDTH = 6;

function networkCard(network, isOne) {
  const { slug, name, chainId, head, headSeenS, activity, upstreams, bloomCheck, groups, groupsNote } = network;
  const title = isOne ? 'Upstreams' : element('a', { href: `/${slug}` }, name);
  const seen = headSeenS === undefined ? '' : `, seen ${age(headSeenS)} ago`;
  const facts = [
    `chain ${chainId}`,
    head === undefined ? 'head unknown' : `block ${formatNumber(head)}${seen}`,
    ...(upstreams.length > 1 ? [`${formatNumber(groups.length)} groups: ${groups.join('; ')}`] : []),
    ...(groupsNote === undefined ? [] : [groupsNote]),
    ...activityFacts(activity),
    ...(network.public === undefined ? [] : [`without a key: ${publicLimits(network.public)}`]),
    ...(bloomCheck === 'off' ? ['logs not checked: the bloom filters of this chain differ from them'] : []),
  ];
  return element(
    'section',
    { class: 'card' },
    element(
      'div',
      { class: 'row' },
      element('h2', {}, title),
      element('span', { class: 'quiet facts' }, ...facts.map((text) => element('span', {}, text))),
    ),
    table(
      ['Upstream', 'State', 'Block', 'Behind', 'Latency', 'Up, 24 h', 'Last 10 minutes'],
      upstreams.map(upstreamRow),
    ),
  );
}

/** Of each client address without a key. */
function publicLimits({ rate, daily }) {
  const limits = [
    ...(rate === undefined ? [] : [`${formatNumber(rate)} units/s`]),
    ...(daily === undefined ? [] : [`${formatNumber(daily)} units a day`]),
  ];
  return limits.length === 0 ? 'no limit of each address' : `${limits.join(' and ')} for each address`;
}

/** Of the last minute. */
function activityFacts(activity) {
  if (activity === undefined || !(activity.perSecond > 0)) return [];
  const { perSecond, p50Ms, p99Ms, cacheHitRate } = activity;
  return [
    `${perSecond < 10 ? perSecond.toFixed(1) : formatNumber(Math.round(perSecond))} requests/s`,
    `p50 ${milliseconds(p50Ms)}, p99 ${milliseconds(p99Ms)}`,
    ...(cacheHitRate === undefined ? [] : [`cache hits ${Math.round(cacheHitRate * 100)} %`]),
  ];
}

function milliseconds(ms) {
  return ms < 1 ? '< 1 ms' : `${formatNumber(Math.round(ms))} ms`;
}

/** The gateway does not respond: all states are unknown. */
let isLost = false;
const lostState = ['quiet', '? unknown'];

/** It gets no calls, and not because an operator has drained it. */
function isFailing({ state, isWorking }) {
  return !isWorking && state !== 'drained';
}

/** A method that is sent to other upstreams first, with the reason and the remaining time. */
function markLine({ method, reason, forS }) {
  return element('div', { class: 'warn' }, `${method}: ${reason}, for ${age(forS)}`);
}

/** Why it is not as it should be. An open circuit has lines of its own. */
function reasonLine(upstream) {
  const { state, reason, trouble } = upstream;
  const isDown = isFailing(upstream);
  if (reason === undefined || state === 'drained' || (isDown && trouble !== undefined)) return [];
  return [element('div', { class: isDown ? 'bad' : 'warn' }, reason)];
}

/** Why a read at `latest` skips the upstream. An open circuit has lines of its own. */
function skipLine(skipReason, trouble) {
  if (skipReason === undefined || (trouble !== undefined && skipReason === 'circuit-open')) return [];
  // The operator has excluded it.
  return [element('div', { class: skipReason === 'excluded' ? 'quiet' : 'warn' }, `skipped: ${skipReason}`)];
}

/** Why and since when the upstream fails, and when it last worked. */
function troubleLines(upstream) {
  const { trouble, workedS } = upstream;
  if (!isFailing(upstream)) return [];
  const worked = workedS === undefined ? 'has not worked since the start' : `last worked ${age(workedS)} ago`;
  const lines = [element('div', { class: 'quiet' }, worked)];
  if (trouble === undefined) return lines;
  const { circuit, forS, reason, failures } = trouble;
  const text = `circuit ${circuit} for ${age(forS)}: ${reason}, ${failures} of ${failures} requests failed`;
  return [element('div', { class: 'bad' }, text), ...lines];
}

/** Other calls wait in the gateway. */
function limitLine(calls) {
  return calls === undefined ? [] : [element('div', { class: 'quiet' }, `at most ${calls} calls at once`)];
}

/** Why the calls of client batches are sent singly. */
function batchLine(reason) {
  if (reason === undefined) return [];
  const why = reason === 'serial' ? 'it works on their calls one by one' : 'it rejected one';
  return [element('div', { class: 'quiet' }, `no batches: ${why}`)];
}

/** How often its results were the same as those of other upstreams. */
function auditLines(audits) {
  if (audits === undefined) return [];
  const { agrees, differs, 'cannot-tell': cannotTell } = audits;
  const counts = `${formatNumber(agrees)} agree, ${formatNumber(differs)} differ, ${formatNumber(cannotTell)} cannot tell`;
  return [element('div', { class: differs > 0 ? 'bad' : 'quiet' }, `audits: ${counts}`)];
}

function upstreamRow(upstream) {
  const { name, state, skipReason, trouble, head, lag, history, availability, marks, audits } = upstream;
  const [style, label] = isLost ? lostState : (upstreamStates[state] ?? ['quiet', state]);
  const isDead = isLost || isFailing(upstream);
  const last = history.slice(-LATENCY_STEPS);
  const requests = last.reduce((sum, bucket) => sum + bucket.sent, 0);
  const seconds = last.reduce((sum, bucket) => sum + bucket.seconds, 0);
  return [
    name,
    element(
      'div',
      {},
      element('span', { class: style }, label),
      ...troubleLines(upstream),
      ...reasonLine(upstream),
      ...skipLine(skipReason, trouble),
      ...marks.map(markLine),
      ...limitLine(upstream.concurrencyLimit),
      ...batchLine(upstream.withoutBatches),
      ...auditLines(audits),
    ),
    head === undefined ? '–' : formatNumber(head),
    lag === undefined || isDead ? '–' : lag === 0 ? 'none' : formatNumber(lag),
    requests === 0 || isDead ? '–' : milliseconds((seconds / requests) * 1000),
    availabilityCell(availability),
    sparkline(history),
  ];
}

/** The share of the last 24 hours, or of the time since the first use, in which the circuit was closed. */
function availabilityCell(availability) {
  if (availability === undefined) return '–';
  const { share, overS } = availability;
  const isWhole = overS >= DAY_S;
  return element('span', {}, uptime(share), isWhole ? '' : element('div', { class: 'quiet' }, `of ${age(overS)}`));
}

/** A share of time in percent, never rounded up to 100 %. */
function uptime(share) {
  return `${share === 1 ? '100' : (Math.floor(share * 10_000) / 100).toFixed(2)} %`;
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
    const x = 120 - BAR_WIDTH * (history.length - index);
    for (const [kind, value] of Object.entries({ requests: bucket.sent, failed: bucket.failed })) {
      // Even one failure among thousands of requests is visible.
      const height = value === 0 ? 0 : Math.max(2, (Math.min(value, bucket.sent) / maxRequests) * 23);
      if (height > 0) svg.append(svgElement('rect', { class: kind, x, y: 24 - height, width: BAR_WIDTH - 1, height }));
    }
  });
  return svg;
}
