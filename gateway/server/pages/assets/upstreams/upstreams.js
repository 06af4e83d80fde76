'use strict';

let upstreams = [];

function showErrors(form, { message }) {
  return form.id === 'login' && showError(byId('token'), message);
}

async function load() {
  ({ upstreams } = await sendRequest('GET', '/upstreams'));
  const drained = upstreams.filter(({ drain }) => drain !== undefined).length;
  const troubled = upstreams.filter(({ reason, drain }) => reason !== undefined && drain === undefined).length;
  byId('summary').textContent =
    `${quantity(upstreams.length, 'upstream')}, ${troubled === 0 ? 'none' : troubled} with trouble, ${drained === 0 ? 'none' : drained} drained`;
  byId('list-view').hidden = false;
  showList();
}

function showList() {
  const words = byId('filter').value.toLowerCase().split(/\s+/);
  const matching = upstreams.filter(({ network, upstream, state, reason = '' }) =>
    words.every((word) => `${network} ${upstream} ${state} ${reason}`.toLowerCase().includes(word)),
  );
  byId('list').replaceChildren(
    matching.length === 0
      ? element('p', { class: 'quiet' }, 'No upstream matches.')
      : table(['Network', 'Upstream', 'State', 'Drained', ''], matching.map(cells)),
  );
}

function cells(one) {
  const { network, upstream, state, reason, drain } = one;
  const [style, text] = upstreamStates[state] ?? ['quiet', state];
  const act = drain === undefined ? 'Drain' : 'Return';
  const button = element(
    'button',
    { type: 'button', 'aria-label': `${act} ${upstream} of ${network}`, click: () => void run(() => change(one)) },
    act,
  );
  return [
    element('a', { href: `/${network}` }, network),
    upstream,
    element(
      'div',
      {},
      element('span', { class: style }, text),
      reason === undefined || drain !== undefined ? undefined : element('div', { class: 'quiet' }, reason),
    ),
    drain === undefined ? '–' : drainText(drain),
    button,
  ];
}

function drainText({ at, by, until }) {
  const end = until === undefined ? 'until it is returned' : `until ${time(until)}`;
  return `since ${time(at)}, ${end}, by ${by}`;
}

/** To the minute, in UTC. */
function time(iso) {
  return `${iso.slice(0, 16).replace('T', ' ')}Z`;
}

async function change({ network, upstream, drain }) {
  const path = `/networks/${network}/upstreams/${encodeURIComponent(upstream)}`;
  const duration = byId('for').value;
  if (drain === undefined) await sendRequest('POST', `${path}/drain`, duration === '' ? {} : { for: duration });
  else await sendRequest('POST', `${path}/undrain`);
  await load();
  // The table is new: the button of the same upstream gets the focus.
  byId('list')
    .querySelector(`button[aria-label$=" ${CSS.escape(`${upstream} of ${network}`)}"]`)
    ?.focus();
  return drain === undefined ? `${upstream} of ${network} is drained.` : `${upstream} of ${network} is in service.`;
}

byId('filter').addEventListener('input', showList);
openSession(load);
