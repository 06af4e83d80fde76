'use strict';

const PLOT_HEIGHT = 170;
const colours = ['--accent', '--warn', '--good', '--bad', '--quiet', '--text'];
const dashes = [[], [8, 4], [2, 3], [8, 3, 2, 3], [12, 4], [4, 4]];
/** Outages that are listed. */
const MAX_OUTAGES = 5;

/** Graphs of calls: what each shows, and from which columns. */
const networkFigures = [
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

/** Graphs with a line for each upstream. */
const upstreamFigures = {
  'Share of requests in %': (columns, sums, index) => share(columns.sent[index], sums[index]),
  'Failed requests in %': (columns, _, index) => share(failedOf(columns, index), columns.sent[index]),
  'p99 of requests in ms': ({ p99Ms }, _, index) => p99Ms[index],
  'Blocks behind': ({ lag }, _, index) => lag[index],
};

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

const loadHistory = latestLoad();
/** History that the graphs show, with its range; undefined: it is being loaded. */
let overTime;
let overTimeError = '';
let plots = [];
/** URL of the history, and `calls`, the filter of the calls in the graphs; undefined: the port has no page of calls. */
let source = {};

function loadOverTime() {
  const requestedRange = range;
  const load = (signal) => loadJson(`${source.url}?range=${requestedRange}`, signal).catch(() => undefined);
  return loadHistory(load, (loaded) => showOverTime(loaded && { ...loaded, range: requestedRange }));
}

/** @param loaded undefined: it cannot be loaded */
function showOverTime(loaded) {
  overTime = loaded ?? overTime;
  overTimeError = loaded === undefined ? 'The history cannot be loaded.' : '';
  if (loaded?.isPartial) overTimeError = 'Redis is unavailable: this is the history of one gateway since its start.';
  draw();
  for (const plot of plots) plot.destroy();
  if (overTime === undefined) return;
  plots = figuresOf(overTime).map((figure, index) => drawPlot(byId('plots').children[index].lastChild, figure));
}

/** The graphs in the chosen range. @param more below them */
function overTimeView(buttons, more) {
  return html`<section id="over-time" class="card" aria-labelledby="over-time-title">
    <h2 id="over-time-title">Over time</h2>
    ${buttons}
    <p id="over-time-error" class="bad" role="status">${overTimeError}</p>
    <div id="plots">
      ${
        overTime &&
        figuresOf(overTime).map(
          (figure) =>
            html`<figure>
              <figcaption>${figure.title}${peakOf(figure)}</figcaption>
              <div></div>
            </figure>`,
        )
      }
    </div>
    ${overTime && outagesView(overTime)} ${more}
  </section>`;
}

function figuresOf({ stepS, at, network, down, upstreams = {} }) {
  const perSecond = (count) => (count === null ? null : Math.round((100 * count) / stepS) / 100);
  const ofNetwork = networkFigures.map(({ title, series, isRate = false }) => ({
    ...{ title, at, stepS, down, colour: '--bad' },
    series: series.map(([label, , colour]) => ({ label, colour })),
    values: series.map(([, column]) => (isRate ? network[column].map(perSecond) : network[column])),
  }));
  const names = Object.keys(upstreams);
  if (names.length === 0) return ofNetwork;
  const all = Object.values(upstreams);
  const sums = at.map((_, index) => all.reduce((sum, { sent }) => sum + (sent[index] ?? 0), 0));
  const downOf = ({ measuredS, upS }, index) => (measuredS[index] > 0 ? 1 - upS[index] / measuredS[index] : 0);
  const anyDown = at.map((_, index) => Math.max(...all.map((columns) => downOf(columns, index))));
  const lines = names.map((label, index) => ({
    ...{ label, upstream: label, colour: colours[index % 6], dash: dashes[Math.floor(index / 6) % 6] },
  }));
  const ofUpstreams = Object.entries(upstreamFigures).map(([title, valueOf]) => ({
    ...{ title, at, stepS, down: anyDown, colour: '--warn', series: lines },
    values: all.map((columns) => at.map((_, index) => valueOf(columns, sums, index))),
  }));
  return [...ofNetwork, ...ofUpstreams];
}

/** The address of the calls in a time, in seconds since 1970; undefined: there is none. */
function callsUrl(from, to, upstream) {
  if (source.calls === undefined) return undefined;
  const [first, last] = [from, to].map((time) => new Date(time * 1000).toISOString());
  return `/calls?${new URLSearchParams({ ...source.calls, ...(upstream && { upstream }), from: first, to: last })}`;
}

/** The largest value of a graph, which leads to its calls. */
function peakOf({ at, stepS, series, values }) {
  const peaks = values.map((line) =>
    line.reduce((best, value, index) => (value > (line[best] ?? 0) ? index : best), -1),
  );
  const valueOf = (line) => values[line][peaks[line]] ?? 0;
  const line = peaks.reduce((best, _, index) => (valueOf(index) > valueOf(best) ? index : best), 0);
  if (!(valueOf(line) > 0)) return undefined;
  const begin = at[peaks[line]];
  const url = callsUrl(begin, begin + stepS, series[line].upstream);
  const time = utcMinute(begin);
  return html`<span class="quiet peak">
    peak ${formatNumber(valueOf(line))} at ${url === undefined ? time : html`<a href=${url}>${time}</a>`}
  </span>`;
}

/** The times in which no upstream worked, latest first, each with its calls. */
function outagesView({ at, stepS, down, upstreams, uptime }) {
  const outages = [];
  for (const [index, part] of down.entries()) {
    if (!(part > 0)) continue;
    const last = outages.at(-1);
    if (last?.to === at[index]) Object.assign(last, { to: at[index] + stepS, seconds: last.seconds + part * stepS });
    else outages.push({ from: at[index], to: at[index] + stepS, seconds: part * stepS });
  }
  const item = ({ from, to, seconds }) => {
    const url = callsUrl(from, to);
    const text = `${utcMinute(from)} to ${utcMinute(to)}`;
    return html`<li>
      ${url === undefined ? text : html`<a href=${url}>${text}</a>`}, up to ${age(Math.max(1, Math.round(seconds)))}
    </li>`;
  };
  const latest = outages.reverse().slice(0, MAX_OUTAGES);
  return html`<div id="outages">
    <p class="hint">
      ${typeof uptime === 'number' && html`<strong>Uptime ${percentOf(uptime)}.</strong> `}
      ${outages.length === 0 ? 'No outage in this range' : `${quantity(outages.length, 'outage')} in this range`}: times
      in which no upstream worked are shaded, darker if they are longer.
      ${upstreams && ' Graphs of upstreams have those in which one of them did not work.'} Times are in UTC.
    </p>
    <ul>
      ${latest.map(item)}
    </ul>
  </div>`;
}

/** The value of a colour of the style sheet, which depends on whether the page is light or dark. */
function colourOf(name) {
  const { style } = byId('plots');
  style.color = `var(${name})`;
  const { color } = getComputedStyle(byId('plots'));
  style.color = '';
  return color;
}

function drawPlot(area, { at, stepS, series, values, down, colour }) {
  const axis = { stroke: colourOf('--quiet'), grid: { stroke: colourOf('--line'), width: 1 }, ticks: { show: false } };
  const isoParts = { '1h': [11, 16], '24h': [11, 16] }[overTime.range] ?? [5, 10];
  const tick = (time) => new Date(time * 1000).toISOString().slice(...isoParts);
  const lines = series.map((line) => ({
    ...{ label: line.label, stroke: colourOf(line.colour), dash: line.dash, width: 1.5, spanGaps: false },
    value: (_, value) => (value === null ? '–' : formatNumber(value)),
  }));
  const shade = ({ ctx, bbox, valToPos }) => {
    ctx.save();
    ctx.fillStyle = colourOf(colour);
    for (const [index, part] of down.entries()) {
      if (!(part > 0)) continue;
      const [left, right] = [at[index], at[index] + stepS].map((time) => valToPos(time, 'x', true));
      ctx.globalAlpha = 0.12 + 0.3 * part;
      ctx.fillRect(left, bbox.top, Math.max(2, right - left), bbox.height);
    }
    ctx.restore();
  };
  const open = ({ over, cursor }) => {
    const show = () => {
      const begin = at[cursor.idx];
      const url = begin === undefined ? undefined : callsUrl(begin, begin + stepS);
      if (url !== undefined) location.href = url;
    };
    over.addEventListener('click', show);
  };
  const plotOptions = {
    ...{ width: area.clientWidth, height: PLOT_HEIGHT },
    series: [{ label: 'Time', value: (_, time) => (time === null ? '–' : utcMinute(time)) }, ...lines],
    axes: [
      { ...axis, values: (_, splits) => splits.map(tick) },
      { ...axis, size: 60, values: (_, splits) => splits.map((value) => formatNumber(value)) },
    ],
    tzDate: (time) => uPlot.tzDate(new Date(time * 1000), 'Etc/UTC'),
    scales: { y: { range: (_, min, max) => [0, Math.max(max ?? 0, 1)] } },
    cursor: { sync: { key: 'over-time' }, drag: { x: false, y: false } },
    hooks: { drawClear: [shade], ready: [open] },
  };
  return new uPlot(plotOptions, [at, ...values], area);
}

/** The failures of the whole range by kind, as text, and the share of the time in which the circuit was closed. */
function failureTable({ upstreams }) {
  const sum = (values) => values.reduce((total, value) => total + (value ?? 0), 0);
  const rows = Object.entries(upstreams).map(([name, columns]) => [
    name,
    ...['sent', ...failureKinds].map((column) => formatNumber(Math.round(sum(columns[column])))),
    sum(columns.measuredS) === 0 ? '–' : percentOf(Math.min(1, sum(columns.upS) / sum(columns.measuredS))),
  ]);
  return html`<h3>Requests to upstreams in this range, their failures and uptime</h3>
    <div id="failures">
      ${table(['Upstream', 'Requests', ...Object.values(failureHeads), 'Uptime'], rows)}
      <p class="hint">
        Requests of callers. Polls and probes of the gateway itself do not count, and an attempt that a hedged request
        overtook is no failure.
      </p>
    </div>`;
}

addEventListener('resize', () => {
  for (const plot of plots) plot.setSize({ width: plot.root.parentElement.clientWidth, height: PLOT_HEIGHT });
});
