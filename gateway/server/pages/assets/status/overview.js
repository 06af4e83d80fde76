'use strict';

/** 3: no upstream works; 2: one fails; 1: one is drained or has other trouble; 0: no trouble. */
function troubleOf({ upstreams }) {
  if (!upstreams.some((upstream) => upstream.isWorking)) return 3;
  if (upstreams.some(isFailing)) return 2;
  return upstreams.some(({ reason }) => reason !== undefined) ? 1 : 0;
}

/** With its duration, if the circuit is open, or an operator has drained it. A note is no trouble. */
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

function stateOf(network) {
  return isIdle(network) ? ['quiet', '○ idle'] : networkStates[troubleOf(network)];
}

/** Columns of the overview, with the value by which each is sorted. */
const columns = [
  { title: 'Network', valueOf: ({ name }) => name.toLowerCase(), cell: nameCell },
  { title: 'State', valueOf: (network) => -troubleOf(network), cell: stateCell },
  {
    title: 'Block',
    valueOf: ({ head }) => -(head ?? -1),
    cell: ({ head }) => (head === undefined ? '–' : formatNumber(head)),
  },
  { title: 'Calls/s', valueOf: ({ activity }) => -(activity?.perSecond ?? 0), cell: ({ activity }) => rate(activity) },
  {
    title: 'Failed',
    valueOf: ({ activity }) => -(activity?.failedShare ?? 0),
    cell: ({ activity }) => failedCell(activity),
  },
  {
    title: 'p50',
    valueOf: ({ activity }) => -(activity?.p50Ms ?? 0),
    cell: ({ activity }) => latency(activity?.p50Ms),
  },
  {
    title: 'p99',
    valueOf: ({ activity }) => -(activity?.p99Ms ?? 0),
    cell: ({ activity }) => latency(activity?.p99Ms),
  },
  { title: 'Upstreams', valueOf: ({ upstreams }) => -upstreams.length, cell: upstreamsCell },
];

function nameCell({ slug, name, chainId }) {
  return element('a', { href: `/${slug}`, title: `chain ${chainId}` }, name);
}

/** The state, and the reason of trouble. */
function stateCell(network) {
  const [style, label] = isLost ? lostState : stateOf(network);
  const reasons = network.upstreams
    .filter((upstream) => reasonOf(upstream) !== undefined)
    .map((upstream) => `${upstream.name}: ${reasonOf(upstream)}`);
  const [first, ...others] = reasons;
  const more = others.length === 0 ? '' : `, and ${others.length} more`;
  return element(
    'span',
    {},
    element('span', { class: style }, label),
    first === undefined || isLost
      ? ''
      : element('span', { class: 'reason', title: reasons.join('\n') }, ` ${first}${more}`),
  );
}

function rate(activity) {
  if (!(activity?.perSecond > 0)) return '–';
  if (activity.perSecond < 0.1) return '< 0.1';
  return activity.perSecond < 10 ? activity.perSecond.toFixed(1) : formatNumber(Math.round(activity.perSecond));
}

function failedCell(activity) {
  const share = activity?.failedShare ?? 0;
  if (!(activity?.perSecond > 0)) return '–';
  if (share === 0) return '0';
  return element('span', { class: 'bad' }, share < 0.001 ? '< 0.1 %' : `${(share * 100).toFixed(1)} %`);
}

function latency(ms) {
  return ms === undefined ? '–' : milliseconds(ms);
}

/** A dot for each upstream, with its name and state. */
function upstreamsCell({ upstreams }) {
  const working = upstreams.filter(({ isWorking }) => isWorking).length;
  const dots = upstreams.slice(0, 12).map((upstream) => {
    const [style, label] = isLost ? lostState : (upstreamStates[upstream.state] ?? ['quiet', upstream.state]);
    const title = `${upstream.name}: ${reasonOf(upstream) ?? label}`;
    return element('span', { class: `dot ${style}`, title, 'aria-hidden': 'true' }, label.slice(0, 1));
  });
  const count = isLost ? `of ${upstreams.length}` : `${working} of ${upstreams.length}`;
  return element('span', { class: 'dots' }, ...dots, ' ', element('span', { class: 'quiet' }, count));
}

/** How the overview is sorted: by trouble, until a head is clicked. */
let sortedBy = 1;
let isReversed = false;

function sorted(networks) {
  const { valueOf } = columns[sortedBy];
  const values = new Map(networks.map((network) => [network, valueOf(network)]));
  const compare = (one, other) => (one < other ? -1 : one > other ? 1 : 0);
  // The sort is stable: networks with equal values are in the order of their files.
  const order = networks.toSorted((one, other) => compare(values.get(one), values.get(other)));
  return isReversed ? order.reverse() : order;
}

/** A table with a row for each network, which opens to its card. */
function overviewTable(networks, openSlugs, onChange) {
  const heads = columns.map(({ title }, index) => {
    const click = () => {
      isReversed = sortedBy === index && !isReversed;
      sortedBy = index;
      onChange(title);
    };
    const button = element('button', { type: 'button', class: 'sort', click }, title);
    const order = index !== sortedBy ? undefined : isReversed ? 'descending' : 'ascending';
    return element('th', { scope: 'col', 'aria-sort': order }, button);
  });
  const rows = networks.flatMap((network) => {
    const isOpen = openSlugs.has(network.slug);
    const toggle = element(
      'button',
      {
        type: 'button',
        class: 'toggle',
        id: `toggle-${network.slug}`,
        'aria-expanded': String(isOpen),
        'aria-label': `Upstreams of ${network.name}`,
        click: () => {
          if (isOpen) openSlugs.delete(network.slug);
          else openSlugs.set(network.slug, undefined);
          onChange();
        },
      },
      isOpen ? '▾' : '▸',
    );
    const cells = columns.map(({ title, cell }, index) =>
      element('td', { 'data-head': title }, index === 0 ? toggle : undefined, cell(network)),
    );
    const details = openSlugs.get(network.slug);
    const open = element(
      'td',
      { colspan: columns.length, 'data-head': '' },
      details === undefined ? '…' : networkCard(details, true),
    );
    return [
      element('tr', { 'data-network': network.slug }, ...cells),
      ...(isOpen ? [element('tr', { class: 'open' }, open)] : []),
    ];
  });
  return element(
    'table',
    { class: 'overview' },
    element('thead', {}, element('tr', {}, ...heads)),
    element('tbody', {}, ...rows),
  );
}
