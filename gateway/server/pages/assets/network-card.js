'use strict';

/** A day, less 400 s for steps that are not complete. Below it, the cell has the measured time. */
const ALMOST_DAY_S = 86_000;
/** The latency shown is that of the last 2 steps of 30 s. */
const LATENCY_STEPS = 2;
/** The bars show the last 20 steps. */
const BAR_WIDTH = 6;

/** A network with its upstreams, as its own page and an open row of the networks have it. */
function networkCard(network) {
  const { chainId, head, headSeenS, activity, upstreams, bloomCheck, groups, groupsNote } = network;
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
  const heads = ['Upstream', 'State', 'Block', 'Behind', 'Latency', 'Up, 24 h', 'Last 10 minutes'];
  return html`<section class="card">
    <div class="row">
      <h2>Upstreams</h2>
      <span class="quiet facts">${facts.map((text) => html`<span>${text}</span>`)}</span>
    </div>
    ${table(heads, upstreams.map(upstreamRow))}
  </section>`;
}

/** The limits of each client address without a key. */
function publicLimits({ rate, daily }) {
  const limits = [
    ...(rate === undefined ? [] : [`${formatNumber(rate)} units/s`]),
    ...(daily === undefined ? [] : [`${formatNumber(daily)} units a day`]),
  ];
  return limits.length === 0 ? 'no limit of each address' : `${limits.join(' and ')} for each address`;
}

/** Activity of the last minute, as texts. */
function activityFacts({ perSecond = 0, p50Ms, p99Ms, cacheHitRate } = {}) {
  if (!(perSecond > 0)) return [];
  return [
    `${perSecondText(perSecond)} calls/s`,
    `p50 ${milliseconds(p50Ms)}, p99 ${milliseconds(p99Ms)}`,
    ...(cacheHitRate === undefined ? [] : [`cache hits ${Math.round(cacheHitRate * 100)} %`]),
  ];
}

/** Notes about an upstream beside its state, each with its style. */
function stateLines(upstream) {
  const { state, reason, trouble, workedS, skipReason, marks, concurrencyLimit, withoutBatches, audits } = upstream;
  const isDown = isFailing(upstream);
  const lines = [];
  if (isDown) {
    if (trouble !== undefined) {
      const { circuit, forS, failures } = trouble;
      const failed = `${failures} of ${failures} requests failed`;
      lines.push(['bad', `circuit ${circuit} for ${age(forS)}: ${trouble.reason}, ${failed}`]);
    }
    lines.push(['quiet', workedS === undefined ? 'has not worked since the start' : `last worked ${age(workedS)} ago`]);
  }
  // An open circuit has lines of its own.
  if (reason !== undefined && state !== 'drained' && !(isDown && trouble !== undefined))
    lines.push([isDown ? 'bad' : 'warn', reason]);
  if (skipReason !== undefined && !(trouble !== undefined && skipReason === 'circuit-open'))
    // The operator has excluded it.
    lines.push([skipReason === 'excluded' ? 'quiet' : 'warn', `skipped: ${skipReason}`]);
  for (const mark of marks) lines.push(['warn', `${mark.method}: ${mark.reason}, for ${age(mark.forS)}`]);
  if (concurrencyLimit !== undefined) lines.push(['quiet', `at most ${concurrencyLimit} calls at once`]);
  if (withoutBatches !== undefined) {
    const why = withoutBatches === 'serial' ? 'it works on their calls one by one' : 'it rejected one';
    lines.push(['quiet', `no batches: ${why}`]);
  }
  if (audits !== undefined) {
    const { agrees, differs, 'cannot-tell': cannotTell } = audits;
    const counts = `${formatNumber(agrees)} agree, ${formatNumber(differs)} differ, ${formatNumber(cannotTell)} cannot tell`;
    lines.push([differs > 0 ? 'bad' : 'quiet', `audits: ${counts}`]);
  }
  return lines;
}

function upstreamRow(upstream) {
  const { name, state, head, lag, history, availability } = upstream;
  const [style, label] = isLost ? lostState : (upstreamStates[state] ?? ['quiet', state]);
  const isDead = isLost || isFailing(upstream);
  const last = history.slice(-LATENCY_STEPS);
  const requests = last.reduce((sum, { sent }) => sum + sent, 0);
  const sumS = last.reduce((sum, { seconds }) => sum + seconds, 0);
  return [
    name,
    html`<div>
      <span class=${style}>${label}</span>
      ${stateLines(upstream).map(([lineStyle, text]) => html`<div class=${lineStyle}>${text}</div>`)}
    </div>`,
    head === undefined ? '–' : formatNumber(head),
    lag === undefined || isDead ? '–' : lag === 0 ? 'none' : formatNumber(lag),
    requests === 0 || isDead ? '–' : milliseconds((sumS / requests) * 1000),
    availabilityCell(availability),
    sparkline(history),
  ];
}

/** The share of the last 24 hours, or of the time since the first use, in which the circuit was closed. */
function availabilityCell(availability) {
  if (availability === undefined) return '–';
  const { share, overS } = availability;
  return html`<span>
    ${percentOf(share)} ${overS < ALMOST_DAY_S && html`<div class="quiet">of ${age(overS)}</div>`}
  </span>`;
}

/** Draws the requests of each bucket and the failed ones as bars, with a title for screen readers. */
function sparkline(history) {
  const requests = history.reduce((sum, { sent }) => sum + sent, 0);
  const failed = history.reduce((sum, bucket) => sum + bucket.failed, 0);
  const title = requests === 0 ? 'no requests' : `${formatNumber(failed)} of ${formatNumber(requests)} requests failed`;
  const maxRequests = Math.max(1, ...history.map(({ sent }) => sent));
  const bars = history.flatMap(({ sent, failed }, index) =>
    Object.entries({ requests: sent, failed: Math.min(failed, sent) }).map(([kind, value]) => {
      // Even one failure among thousands of requests is visible.
      const height = value === 0 ? 0 : Math.max(2, (value / maxRequests) * 23);
      const x = 120 - BAR_WIDTH * (history.length - index);
      return html`<rect class=${kind} x=${x} y=${24 - height} width=${BAR_WIDTH - 1} height=${height} />`;
    }),
  );
  return html`<svg class="spark" viewBox="0 0 120 24" preserveAspectRatio="none" role="img">
    <title>${title}</title>
    <line class="ground" x1="0" x2="120" y1="23.5" y2="23.5" />
    ${bars}
  </svg>`;
}
