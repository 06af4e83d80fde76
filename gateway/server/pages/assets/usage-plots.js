'use strict';

/** Methods or networks with the most calls, which get a bar each. */
const MAX_BARS = 10;

/**
 * Graphs of calls, errors and request units by day, and by network and method, with the numbers as text.
 * @param dayRows by day; for a key, rows by day, network and method are those of all graphs
 */
function usagePlots(days, dayRows, networkRows = dayRows, methodRows = dayRows) {
  if (dayRows.length === 0) return html`<p class="quiet">No calls yet.</p>`;
  const networks = new Set(networkRows.map(({ network }) => network));
  return html`<div class="plots">
    ${dayPlot(dayRows, days)}
    <div>
      ${
        networks.size > 1 &&
        html`<h3>By network</h3>
          ${bars(networkRows, 'network')}`
      }
      <h3>By method</h3>
      ${bars(methodRows, 'method')}
    </div>
    ${dayTable(dayRows, days)}
  </div>`;
}

/** The days with calls, newest first, each with its units. */
function dayTable(rows, days) {
  const used = sumsByDay(rows, days).filter(({ calls }) => calls > 0);
  const cells = used
    .reverse()
    .map(({ day, calls, units, errors, reasons }) => [
      day,
      ...[calls, units, errors].map(formatNumber),
      reasonsText(reasons),
    ]);
  return html`<details>
    <summary>By day</summary>
    ${table(['Day', 'Calls', 'Units', 'Errors', 'Errors by reason'], cells)}
  </details>`;
}

/** Used and remaining units of each quota; undefined: there are no quotas. */
function quotaBars(quotas = []) {
  if (quotas.length === 0) return undefined;
  const row = ({ period, size, used, endsInS }) => {
    const part = Math.min(1, used / size);
    const left = formatNumber(Math.max(0, Math.floor(size - used)));
    const hours = Math.ceil(endsInS / 3600);
    const end = hours > 48 ? `${Math.ceil(hours / 24)} days` : quantity(hours, 'hour');
    const text = `${formatNumber(Math.ceil(used))} of ${formatNumber(size)} units of the ${period} used, ${left} left for ${end}`;
    return html`<p>
      <span class=${quotaStyle(part)}>${text}</span>
      ${bar(
        [
          ['ground', 100],
          [part >= 0.8 ? 'errors' : 'calls', part * 100],
        ],
        'share',
      )}
    </p>`;
  };
  return html`<div>
    <h3>Quota</h3>
    ${quotas.map(row)}
  </div>`;
}

function quotaStyle(part) {
  return part >= 1 ? 'bad' : part >= 0.8 ? 'warn' : 'quiet';
}

/** Bars over each other. @param parts class and width in percent of each */
function bar(parts, more = '') {
  return html`<svg class="plot ${more}" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
    ${parts.map(([kind, width]) => html`<rect class=${kind} x="0" y="0" height="8" width=${width} />`)}
  </svg>`;
}

function dayPlot(rows, days) {
  const all = sumsByDay(rows, days);
  const maxCalls = Math.max(1, ...all.map(({ calls }) => calls));
  const total = sum(rows);
  const width = 320 / all.length;
  const column = ({ day, ...counts }, index) =>
    html`<g>
      <title>${day}: ${quantity(counts.calls, 'call')}, ${quantity(counts.errors, 'error')}</title>
      ${['calls', 'errors'].map((kind) => {
        const height = counts[kind] === 0 ? 0 : Math.max(1, (counts[kind] / maxCalls) * 100);
        return html`<rect class=${kind} x=${index * width} y=${112 - height} width=${width * 0.9} height=${height} />`;
      })}
    </g>`;
  const reasons = reasonsText(total.reasons);
  return html`<div>
    <p>Today (UTC): ${sumText(all.at(-1))}</p>
    ${days > 1 && html`<p>In ${quantity(days, 'day')}: ${sumText(total)}</p>`}
    <svg class="plot" viewBox="0 0 320 130" role="img">
      <title>${quantity(total.calls, 'call')}, ${quantity(total.errors, 'error')}</title>
      ${all.map(column)}
      <text x="0" y="126">${all[0].day}</text>
      <text x="320" y="126" text-anchor="end">${all.at(-1).day}</text>
      <text x="0" y="10">${formatNumber(maxCalls)} calls a day</text>
    </svg>
    ${reasons !== '' && html`<p>Errors by reason: ${reasons}</p>`}
  </div>`;
}

function sumText({ calls, errors, units }) {
  return `${quantity(calls, 'call')}, ${quantity(errors, 'error')}, ${quantity(units, 'request unit')}`;
}

/** @param place `network` or `method` */
function bars(rows, place) {
  const names = [...new Set(rows.map((row) => row[place]))];
  const all = names.map((name) => ({ name, ...sum(rows.filter((row) => row[place] === name)) }));
  const shown = all.sort((a, b) => b.calls - a.calls).slice(0, MAX_BARS);
  const maxCalls = Math.max(1, ...shown.map(({ calls }) => calls));
  const row = ({ name, calls, errors }) => {
    const isOther = place === 'method' && name === 'other';
    return [
      html`<span>
        ${isOther ? 'rejected before the method was read, or not served' : html`<code>${breakable(name)}</code>`}
      </span>`,
      html`<span>${formatNumber(calls)}${errors > 0 && `, ${quantity(errors, 'error')}`}</span>`,
      bar(Object.entries({ calls, errors }).map(([kind, value]) => [kind, (value / maxCalls) * 100])),
    ];
  };
  return html`<div class="bars">${shown.flatMap(row)}</div>`;
}

function sum(rows) {
  const add = (name) => rows.reduce((total, row) => total + row[name], 0);
  const reasons = {};
  for (const row of rows)
    for (const [reason, count] of Object.entries(row.reasons ?? {})) reasons[reason] = (reasons[reason] ?? 0) + count;
  return { calls: add('calls'), units: add('units'), errors: add('errors'), reasons };
}

/** `12 daily, 3 revert`: the most frequent reason first. */
function reasonsText(reasons) {
  return Object.entries(reasons)
    .sort(([, one], [, other]) => other - one)
    .map(([reason, count]) => `${formatNumber(count)} ${reason}`)
    .join(', ');
}

/** The sums of the last days, in UTC, as in the usage records. */
function sumsByDay(rows, days) {
  return Array.from({ length: days }, (_, index) => {
    const day = new Date(Date.now() - (days - 1 - index) * 86_400_000).toISOString().slice(0, 10);
    return { day, ...sum(rows.filter((row) => row.day === day)) };
  });
}
