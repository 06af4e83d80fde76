'use strict';

/** The gateway does not respond: all states are unknown. */
let isLost = false;
const lostState = ['quiet', '? unknown'];

/** The upstream gets no calls, and not because an operator has drained it. */
function isFailing({ state, isWorking }) {
  return !isWorking && state !== 'drained';
}

/** Degree of trouble. 3: no upstream works; 2: one fails; 1: one is drained or has other trouble; 0: none. */
function troubleOf({ upstreams }) {
  if (!upstreams.some((upstream) => upstream.isWorking)) return 3;
  if (upstreams.some(isFailing)) return 2;
  return upstreams.some(({ reason }) => reason !== undefined) ? 1 : 0;
}

/** Reason of a state, with its duration if the circuit is open or an operator has drained the upstream. A note is no trouble. */
function reasonOf({ reason, note, forS }) {
  return forS === undefined ? (reason ?? note) : `${reason}, for ${age(forS)}`;
}

/** Heads are followed while a network is used, and for three minutes after that. */
function isIdle(network) {
  const { head, activity } = network;
  return troubleOf(network) === 0 && head === undefined && !(activity?.perSecond > 0);
}

const networkStates = [
  ['good', '● up'],
  ['warn', '◆ degraded'],
  ['warn', '▲ partly down'],
  ['bad', '▲ down'],
];

/** The state of a network, and the reason of trouble. */
function stateCell(network) {
  const [style, label] = isLost ? lostState : isIdle(network) ? ['quiet', '○ idle'] : networkStates[troubleOf(network)];
  const reasons = network.upstreams
    .filter((upstream) => reasonOf(upstream) !== undefined)
    .map((upstream) => `${upstream.name}: ${reasonOf(upstream)}`);
  const more = reasons.length > 1 ? `, and ${reasons.length - 1} more` : '';
  return html`<span>
    <span class=${style}>${label}</span>
    ${reasons.length > 0 && !isLost && html`<span class="reason" title=${reasons.join('\n')}> ${reasons[0]}${more}</span>`}
  </span>`;
}

/** A dot for each upstream, with its name and state. */
function upstreamsCell({ upstreams }) {
  const working = upstreams.filter(({ isWorking }) => isWorking).length;
  const dots = upstreams.slice(0, 12).map((upstream) => {
    const [style, label] = isLost ? lostState : (upstreamStates[upstream.state] ?? ['quiet', upstream.state]);
    const title = `${upstream.name}: ${reasonOf(upstream) ?? label}`;
    return html`<span class=${style} title=${title} aria-hidden="true">${label.slice(0, 1)}</span>`;
  });
  const count = isLost ? `of ${upstreams.length}` : `${working} of ${upstreams.length}`;
  return html`<span class="dots">${dots} <span class="quiet">${count}</span></span>`;
}

function perSecondText(perSecond) {
  if (perSecond < 0.1) return '< 0.1';
  return perSecond < 10 ? perSecond.toFixed(1) : formatNumber(Math.round(perSecond));
}

/** A share in percent, never rounded up to 100 %. */
function percentOf(share) {
  return `${share === 1 ? '100' : (Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

/** Counts upstreams, and those that fail. @returns the text and its style */
function summaryOf(networks, prefix = '') {
  const all = networks.flatMap(({ upstreams }) => upstreams);
  const failing = all.filter(isFailing).length;
  const text = `${prefix}${quantity(all.length, 'upstream')}, ${failing === 0 ? 'none failing' : `${failing} failing`}`;
  return [text, failing === 0 ? 'quiet' : 'warn'];
}

/** The summary while the gateway does not respond. @param respondedAt undefined: never */
function lostSummary(respondedAt) {
  const since = respondedAt === undefined ? '' : ` It last responded at ${utcTime(respondedAt.toISOString())}.`;
  return [`▲ The gateway does not respond.${since}`, 'bad'];
}

/** Shows that the current network files are invalid: their diagnostics, and when the active ones were read. */
function configurationView({ loadedAt = '', refused: rejected = null } = {}) {
  const { at = '', mistakes = [] } = rejected ?? {};
  return html`<section id="configuration" class="card" hidden=${rejected === null}>
    <p id="rejection" class="warn">
      ▲ The network files read on ${utcTime(at)} are invalid. The configuration of ${utcTime(loadedAt)} is active.
    </p>
    <ul id="diagnostics" class="code">
      ${mistakes.map((text) => html`<li>${text}</li>`)}
    </ul>
  </section>`;
}
