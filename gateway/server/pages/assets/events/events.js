'use strict';

const POLL_MS = 5_000;
let timer;

async function showEvents() {
  const { events } = await loadRows('/events', byId('filters'));
  const lasting = events.filter(({ endedAt }) => endedAt === null).length;
  byId('summary').textContent = lasting === 0 ? 'no trouble now' : `${quantity(lasting, 'trouble')} now`;
  byId('summary').className = lasting === 0 ? 'quiet' : 'warn';
  byId('none').hidden = events.length > 0;
  const heads = ['Began', 'Kind', 'Network', 'Upstream', 'What', 'Lasted', 'Times'];
  byId('events').replaceChildren(...(events.length === 0 ? [] : [table(heads, events.map(eventRow))]));
  suggestValues(
    'networks',
    events.map(({ network }) => network),
  );
  suggestValues(
    'upstreams',
    events.map(({ upstream }) => upstream),
  );
  clearTimeout(timer);
  timer = setTimeout(() => {
    if (!document.hidden) void run(showEvents);
  }, POLL_MS);
}

function eventRow({ at, kind, network = '', upstream = '', reason, by, endedAt, forS, count }) {
  const style = endedAt === null ? 'bad' : endedAt === undefined ? 'quiet' : 'good';
  const lasted = endedAt === null ? `▲ ${age(forS)}, lasts` : endedAt === undefined ? '' : `● ${age(forS)}, ended`;
  return [
    shortTime(at),
    kind,
    network === '' ? '' : element('a', { href: `/${network}` }, network),
    upstream,
    by === undefined ? reason : `${reason}, by ${by}`,
    element('span', { class: style }, lasted),
    count > 1 ? formatNumber(count) : '',
  ];
}

byId('filters').addEventListener('submit', (event) => {
  event.preventDefault();
  void run(showEvents);
});
document.addEventListener('visibilitychange', () => {
  if (!document.hidden && token !== '') void run(showEvents);
});
fillFilters(byId('filters'));
openSession(showEvents);
