'use strict';

const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3], [12, 4], [4, 4]];
const PLOT_HEIGHT = 170;

/** Plots of the network: what each shows, and from which columns. */
const networkPlots = [
  { title: 'Calls per second', series: [['all', 'calls', '--accent']], isRate: true },
  {
    title: 'Errors per second',
    series: [
      ['failed', 'failed', '--bad'],
      ['upstream errors', 'upstreamErrors', '--warn'],
      ['rejected', 'rejected', '--quiet'],
    ],
    isRate: true,
  },
  {
    title: 'Latency in ms',
    series: [
      ['p50', 'p50Ms', '--accent'],
      ['p99', 'p99Ms', '--warn'],
    ],
  },
];

/** Plots with a line for each upstream. */
const upstreamPlots = [
  { title: 'Share of requests in %', valueOf: (columns, sums, index) => share(columns.sent[index], sums[index]) },
  {
    title: 'Failed requests in %',
    valueOf: ({ sent, ...failed }, _, index) => share(failedOf(failed, index), sent[index]),
  },
  { title: 'p99 of requests in ms', valueOf: ({ p99Ms }, _, index) => p99Ms[index] },
  { title: 'Blocks behind', valueOf: ({ lag }, _, index) => lag[index] },
];

/** Kinds of failures, with their heads in the table. */
const failureHeads = {
  unreachable: 'Unreachable',
  limited: 'At its limit',
  credentials: 'Credentials rejected',
  otherChain: 'Wrong chain',
  unsupported: 'Unsupported',
  invalid: 'Invalid',
};
const failureKinds = Object.keys(failureHeads);

function failedOf(columns, index) {
  return failureKinds.reduce((sum, kind) => sum + (columns[kind][index] ?? 0), 0);
}

function share(part, whole) {
  return whole > 0 ? Math.round((1000 * (part ?? 0)) / whole) / 10 : null;
}

let plots = [];
let range = '1h';
let plotTimer;

async function showOverTime() {
  clearTimeout(plotTimer);
  try {
    const response = await fetch(`${base}/history.json?range=${range}`, { headers: { accept: 'application/json' } });
    if (!response.ok) throw new Error(`HTTP ${response.status}`);
    const history = await response.json();
    drawPlots(history);
    byId('over-time-error').textContent = history.isPartial
      ? 'Redis is unavailable: this is the history of one gateway since its start.'
      : '';
  } catch {
    byId('over-time-error').textContent = 'The history cannot be loaded.';
  }
  plotTimer = setTimeout(() => {
    if (!document.hidden) void showOverTime();
  }, 30_000);
}

function drawPlots({ stepS, at, network, upstreams }) {
  for (const plot of plots) plot.destroy();
  const perSecond = (count) => (count === null ? null : Math.round((100 * count) / stepS) / 100);
  const all = networkPlots.map(({ title, series, isRate = false }) => ({
    title,
    series: series.map(([label, , colour]) => ({ label, colour })),
    values: series.map(([, column]) => (isRate ? network[column].map(perSecond) : network[column])),
  }));
  const names = Object.keys(upstreams);
  const sums = at.map((_, index) => names.reduce((sum, name) => sum + (upstreams[name].sent[index] ?? 0), 0));
  const colours = ['--accent', '--warn', '--good', '--bad', '--quiet', '--text'];
  for (const { title, valueOf } of upstreamPlots) {
    all.push({
      title,
      series: names.map((label, index) => ({
        label,
        colour: colours[index % 6],
        dash: dashes[Math.floor(index / 6) % 6],
      })),
      values: names.map((name) => at.map((_, index) => valueOf(upstreams[name], sums, index))),
    });
  }
  byId('plots').replaceChildren(...all.map(({ title }) => element('figure', {}, element('figcaption', {}, title))));
  const style = getComputedStyle(document.documentElement);
  plots = all.map((plot, index) => draw(byId('plots').children[index], plot, at, style));
  byId('failures').replaceChildren(failureTable(upstreams));
}

function draw(figure, { series, values }, at, style) {
  const colourOf = (name) => style.getPropertyValue(name).trim();
  const axis = { stroke: colourOf('--quiet'), grid: { stroke: colourOf('--line'), width: 1 }, ticks: { show: false } };
  const lines = series.map(({ label, colour, dash }) => ({
    ...{ label, stroke: colourOf(colour), dash, width: 1.5, spanGaps: false },
    value: (_, value) => (value === null ? '–' : formatNumber(value)),
  }));
  const options = {
    ...{ width: figure.clientWidth, height: PLOT_HEIGHT, series: [{ label: 'Time' }, ...lines] },
    axes: [axis, { ...axis, size: 60, values: (_, splits) => splits.map((value) => formatNumber(value)) }],
    scales: { y: { range: (_, min, max) => [0, Math.max(max ?? 0, 1)] } },
    cursor: { sync: { key: 'over-time' }, drag: { x: false, y: false } },
  };
  return new uPlot(options, [at, ...values], figure);
}

/** The failures of the whole range by kind, as text, and the share of the time in which the circuit was closed. */
function failureTable(upstreams) {
  const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
  const rows = Object.entries(upstreams).map(([name, columns]) => [
    name,
    ...['sent', ...failureKinds].map((column) => formatNumber(Math.round(sum(columns[column])))),
    sum(columns.measuredS) === 0 ? '–' : uptime(Math.min(1, sum(columns.upS) / sum(columns.measuredS))),
  ]);
  return element(
    'div',
    {},
    table(['Upstream', 'Requests', ...Object.values(failureHeads), 'Uptime'], rows),
    element(
      'p',
      { class: 'hint' },
      'Requests of callers. Polls and probes of the gateway itself do not count, and an attempt that a hedged request overtook is no failure.',
    ),
  );
}

function chooseRange(chosen) {
  range = chosen;
  for (const button of byId('ranges').children) button.setAttribute('aria-pressed', String(button.value === range));
  void showOverTime();
}

for (const button of byId('ranges').children) button.addEventListener('click', () => chooseRange(button.value));
addEventListener('resize', () => {
  for (const plot of plots) plot.setSize({ width: plot.root.parentElement.clientWidth, height: PLOT_HEIGHT });
});
chooseRange(range);
