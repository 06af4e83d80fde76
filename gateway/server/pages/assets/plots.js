'use strict';

/** How many methods have a bar of their own. */
const METHODS_SHOWN = 10;

/** Calls and errors by day, and by method, as pictures with the numbers in words. */
function usagePlots(rows, days) {
  if (rows.length === 0) return element('p', { class: 'quiet' }, 'Nothing so far.');
  return element('div', { class: 'plots' }, dayPlot(rows, days), methodBars(rows));
}

function dayPlot(rows, days) {
  const all = lastDays(days).map((day) => ({ day, ...sum(rows.filter((row) => row.day === day)) }));
  const most = Math.max(1, ...all.map(({ calls }) => calls));
  const total = sum(rows);
  const svg = drawn('svg', { class: 'plot', viewBox: '0 0 320 130', role: 'img' });
  svg.append(drawn('title', {}, `${many(total.calls, 'call')}, ${many(total.errors, 'error')}`));
  const width = 320 / all.length;
  all.forEach(({ day, calls, errors }, index) => {
    const bar = drawn('g', {});
    bar.append(drawn('title', {}, `${day}: ${many(calls, 'call')}, ${many(errors, 'error')}`));
    for (const [kind, value] of Object.entries({ calls, errors })) {
      const height = value === 0 ? 0 : Math.max(1, (value / most) * 100);
      bar.append(drawn('rect', { class: kind, x: index * width, y: 112 - height, width: width - 1, height }));
    }
    svg.append(bar);
  });
  svg.append(
    drawn('text', { x: 0, y: 126 }, all[0].day),
    drawn('text', { x: 320, y: 126, 'text-anchor': 'end' }, 'today'),
  );
  svg.append(drawn('text', { x: 0, y: 10 }, `${count(most)} calls a day`));
  return element('div', {}, element('p', {}, `${many(total.calls, 'call')}, ${many(total.errors, 'error')}`), svg);
}

function methodBars(rows) {
  const names = [...new Set(rows.map(({ method }) => method))];
  const all = names.map((name) => ({ name, ...sum(rows.filter(({ method }) => method === name)) }));
  const shown = all.sort((a, b) => b.calls - a.calls).slice(0, METHODS_SHOWN);
  const most = Math.max(1, ...shown.map(({ calls }) => calls));
  const cells = shown.flatMap(({ name, calls, errors }) => {
    const bar = drawn('svg', {
      class: 'plot',
      viewBox: '0 0 100 8',
      preserveAspectRatio: 'none',
      'aria-hidden': 'true',
    });
    for (const [kind, value] of Object.entries({ calls, errors })) {
      bar.append(drawn('rect', { class: kind, x: 0, y: 0, height: 8, width: (value / most) * 100 }));
    }
    const words = errors === 0 ? count(calls) : `${count(calls)}, ${many(errors, 'error')}`;
    return [element('code', {}, ...breakable(name)), element('span', {}, words), bar];
  });
  return element('div', { class: 'bars' }, ...cells);
}

function sum(rows) {
  const add = (name) => rows.reduce((total, row) => total + row[name], 0);
  return { calls: add('calls'), errors: add('errors') };
}

/** In UTC, as usage is kept. */
function lastDays(number) {
  return Array.from({ length: number }, (_, at) =>
    new Date(Date.now() - (number - 1 - at) * 86_400_000).toISOString().slice(0, 10),
  );
}
