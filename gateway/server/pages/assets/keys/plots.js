'use strict';

/** Methods or networks with the most calls, which get a bar each. */
const MAX_BARS = 10;

/** Plots calls, errors and request units by day, and by network and method, with the numbers as text. */
function usagePlots(rows, days) {
  if (rows.length === 0) return element('p', { class: 'quiet' }, 'No calls yet.');
  const networks = new Set(rows.map(({ network }) => network));
  return element(
    'div',
    { class: 'plots' },
    dayPlot(rows, days),
    element(
      'div',
      {},
      ...(networks.size > 1 ? [element('h3', {}, 'By network'), bars(rows, 'network')] : []),
      element('h3', {}, 'By method'),
      bars(rows, 'method'),
    ),
    dayTable(rows, days),
  );
}

/** The days with calls, newest first, each with its units. */
function dayTable(rows, days) {
  const used = lastDays(days)
    .map((day) => ({ day, ...sum(rows.filter((row) => row.day === day)) }))
    .filter(({ calls }) => calls > 0)
    .reverse();
  const cells = used.map(({ day, calls, units, errors, reasons }) => [
    day,
    ...[calls, units, errors].map(formatNumber),
    reasonsText(reasons),
  ]);
  const heads = ['Day', 'Calls', 'Units', 'Errors', 'Errors by reason'];
  return element('details', {}, element('summary', {}, 'By day'), table(heads, cells));
}

/** How much of each quota is used and left. Empty without quotas. */
function quotaBars(quotas = []) {
  if (quotas.length === 0) return '';
  const rows = quotas.map(({ period, size, used, endsInS }) => {
    const share = Math.min(1, used / size);
    const left = formatNumber(Math.max(0, Math.floor(size - used)));
    const hours = Math.ceil(endsInS / 3600);
    const end = hours > 48 ? `${Math.ceil(hours / 24)} days` : quantity(hours, 'hour');
    const text = `${formatNumber(Math.ceil(used))} of ${formatNumber(size)} units of the ${period} used, ${left} left for ${end}`;
    const style = share >= 1 ? 'bad' : share >= 0.8 ? 'warn' : '';
    return element('p', {}, element('span', { class: style }, text), shareBar(share));
  });
  return element('div', {}, element('h3', {}, 'Quota'), ...rows);
}

function shareBar(share) {
  const bar = svgElement('svg', {
    class: 'plot share',
    viewBox: '0 0 100 4',
    preserveAspectRatio: 'none',
    'aria-hidden': 'true',
  });
  bar.append(svgElement('rect', { class: 'ground', x: 0, y: 0, height: 4, width: 100 }));
  bar.append(
    svgElement('rect', { class: share >= 0.8 ? 'errors' : 'calls', x: 0, y: 0, height: 4, width: share * 100 }),
  );
  return bar;
}

function dayPlot(rows, days) {
  const all = lastDays(days).map((day) => ({ day, ...sum(rows.filter((row) => row.day === day)) }));
  const maxCalls = Math.max(1, ...all.map(({ calls }) => calls));
  const total = sum(rows);
  const svg = svgElement('svg', { class: 'plot', viewBox: '0 0 320 130', role: 'img' });
  svg.append(svgElement('title', {}, `${quantity(total.calls, 'call')}, ${quantity(total.errors, 'error')}`));
  const width = 320 / all.length;
  all.forEach(({ day, calls, errors }, index) => {
    const bar = svgElement('g', {});
    bar.append(svgElement('title', {}, `${day}: ${quantity(calls, 'call')}, ${quantity(errors, 'error')}`));
    for (const [kind, value] of Object.entries({ calls, errors })) {
      const height = value === 0 ? 0 : Math.max(1, (value / maxCalls) * 100);
      bar.append(svgElement('rect', { class: kind, x: index * width, y: 112 - height, width: width - 1, height }));
    }
    svg.append(bar);
  });
  svg.append(
    svgElement('text', { x: 0, y: 126 }, all[0].day),
    svgElement('text', { x: 320, y: 126, 'text-anchor': 'end' }, 'today'),
  );
  svg.append(svgElement('text', { x: 0, y: 10 }, `${formatNumber(maxCalls)} calls a day`));
  const reasons = reasonsText(total.reasons);
  const today = all.at(-1);
  return element(
    'div',
    {},
    element('p', {}, `Today (UTC): ${sumText(today)}`),
    element('p', {}, `In ${quantity(days, 'day')}: ${sumText(total)}`),
    svg,
    ...(reasons === '' ? [] : [element('p', {}, `Errors by reason: ${reasons}`)]),
  );
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
  const cells = shown.flatMap(({ name, calls, errors }) => {
    const bar = svgElement('svg', {
      class: 'plot',
      viewBox: '0 0 100 8',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    });
    for (const [kind, value] of Object.entries({ calls, errors })) {
      bar.append(svgElement('rect', { class: kind, x: 0, y: 0, height: 8, width: (value / maxCalls) * 100 }));
    }
    const text = errors === 0 ? formatNumber(calls) : `${formatNumber(calls)}, ${quantity(errors, 'error')}`;
    const isOther = place === 'method' && name === 'other';
    const label = isOther
      ? 'rejected before the method was read, or not served'
      : element('code', {}, ...breakable(name));
    return [isOther ? element('span', {}, label) : label, element('span', {}, text), bar];
  });
  return element('div', { class: 'bars' }, ...cells);
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

/** Days in UTC, as in the usage records. */
function lastDays(number) {
  return Array.from({ length: number }, (_, index) =>
    new Date(Date.now() - (number - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}
