'use strict';

/** Methods with the most calls, which get a bar each. */
const MAX_METHODS = 10;

/** Plots calls and errors by day and by method, with the numbers as text. */
function usagePlots(rows, days) {
  if (rows.length === 0) return element('p', { class: 'quiet' }, 'No calls yet.');
  return element('div', { class: 'plots' }, dayPlot(rows, days), methodBars(rows));
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
  return element(
    'div',
    {},
    element('p', {}, `${quantity(total.calls, 'call')}, ${quantity(total.errors, 'error')}`),
    svg,
  );
}

function methodBars(rows) {
  const names = [...new Set(rows.map(({ method }) => method))];
  const all = names.map((name) => ({ name, ...sum(rows.filter(({ method }) => method === name)) }));
  const shown = all.sort((a, b) => b.calls - a.calls).slice(0, MAX_METHODS);
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
    return [element('code', {}, ...breakable(name)), element('span', {}, text), bar];
  });
  return element('div', { class: 'bars' }, ...cells);
}

function sum(rows) {
  const add = (name) => rows.reduce((total, row) => total + row[name], 0);
  return { calls: add('calls'), errors: add('errors') };
}

/** Days in UTC, as in the usage records. */
function lastDays(number) {
  return Array.from({ length: number }, (_, index) =>
    new Date(Date.now() - (number - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}
