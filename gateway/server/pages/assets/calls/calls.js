'use strict';

/** Reasons in words; others are shown as they are. */
const permissionOutcomes = new Set(['key-settings', 'secret-invalid', 'key-invalid']);
const usualOutcomes = new Set(['result', 'null', 'notification', 'revert', 'caller-left']);

async function showCalls() {
  const { params, calls } = await loadRows('/calls', byId('filters'));
  byId('summary').textContent = `${quantity(calls.length, 'row')}, parameters ${params}`;
  byId('none').hidden = calls.length > 0;
  const heads = ['Time', 'Key', 'Network', 'Method', 'Outcome', 'Served by', 'Why', 'Time taken', ''];
  const shown = calls.length === 0 ? [] : [table(heads, calls.map(callRow))];
  byId('calls').replaceChildren(...shown);
  for (const [index, row] of [...byId('calls').querySelectorAll('tbody tr')].entries()) addDetails(row, calls[index]);
  for (const id of ['key', 'method'])
    suggestValues(
      `${id}s`,
      calls.map((call) => call[id]),
    );
}

/** The networks and upstreams of the gateway, its outcomes, and the filters of the page's address. */
async function openPage() {
  const { upstreams } = await sendRequest('GET', '/upstreams');
  suggestValues(
    'networks',
    upstreams.map(({ network }) => network),
  );
  suggestValues(
    'upstreams',
    upstreams.map(({ upstream }) => upstream),
  );
  const { outcomes } = JSON.parse(byId('data').textContent);
  const options = outcomes.toSorted().map((name) => element('option', { value: name }, name));
  byId('outcome').replaceChildren(element('option', { value: '' }, 'all'), ...options);
  fillFilters(byId('filters'));
  await showCalls();
}

function callRow(call) {
  const { at, count, key, keyName, network = '–', method = '–', outcome, ms } = call;
  return [
    shortTime(at),
    key === undefined
      ? 'no valid key'
      : element('a', { href: `/keys#${key}`, title: key, class: keyName === undefined && 'code' }, keyName ?? key),
    titled(network),
    titled(method),
    element(
      'span',
      { class: usualOutcomes.has(outcome) ? 'good' : 'bad' },
      outcome,
      count > 1 ? ` × ${formatNumber(count)}` : '',
    ),
    titled(servedBy(call)),
    titled(whyText(call)),
    `${formatNumber(ms)} ms`,
    '',
  ];
}

/** A text that may be cut off. */
function titled(text) {
  return element('span', { title: text }, text);
}

/** The upstream whose response the call got. */
function servedBy({ outcome, explanation }) {
  const { attempts = [], cache } = explanation ?? {};
  const served = attempts.findLast((attempt) => isUsable(attempt.outcome))?.upstream;
  if (served !== undefined) return served;
  return cache === 'hit' && usualOutcomes.has(outcome) ? 'the cache' : '–';
}

/** The rule that rejected the call with its value, else the failures of its attempts. */
function whyText({ outcome, rule, ruleValue, received, unitsLeft, problem, explanation }) {
  if (problem !== undefined) return problem;
  const value = ruleValue === undefined ? '' : ` ${ruleValue}`;
  if (rule !== undefined && unitsLeft !== undefined)
    return `limit ${rule}${value}: ${quantity(unitsLeft, 'unit')} left`;
  if (rule === 'origins') return `permission origins${value}: received ${received ?? 'no Origin'}`;
  if (rule !== undefined) return `${permissionOutcomes.has(outcome) ? 'permission' : 'bound'} ${rule}${value}`;
  const { attempts = [], skipped = {} } = explanation ?? {};
  const failed = attempts.filter((attempt) => !isUsable(attempt.outcome));
  const texts = [
    ...failed.map((attempt) => `${attempt.upstream}: ${attempt.outcome ?? 'in progress'}`),
    ...Object.entries(skipped).map(([upstream, reason]) => `${upstream}: skipped, ${reason}`),
  ];
  return texts.join('; ');
}

/** A button that opens a row with the picture of the call. */
function addDetails(row, call) {
  const name = call.method ?? 'request';
  const button = element('button', { type: 'button', 'aria-expanded': 'false' }, 'Details');
  button.setAttribute('aria-label', `Details of ${name} at ${call.at}`);
  let details;
  button.addEventListener('click', () => {
    const isOpen = details !== undefined;
    if (isOpen) details.remove();
    details = isOpen ? undefined : element('tr', {}, element('td', { colspan: '9' }, callDetails(call)));
    if (details !== undefined) row.after(details);
    button.setAttribute('aria-expanded', String(!isOpen));
  });
  row.lastElementChild.append(button);
}

function callDetails(call) {
  const { requestId, key, keyName, network, code, params, explanation, ms } = call;
  const why = whyText(call);
  const facts = [
    `request ${requestId}`,
    ...(key === undefined ? [] : [`key ${keyName ?? key}`]),
    ...(network === undefined ? [] : [`network ${network}`]),
    ...(why === '' ? [] : [why]),
    ...(code === undefined ? [] : [`error code ${code}`]),
    ...(params === undefined ? [] : [`parameters ${params}`]),
  ];
  return element(
    'div',
    {},
    element('p', { class: 'quiet' }, facts.join('; ')),
    explanation === undefined
      ? element('p', { class: 'quiet' }, 'It was rejected before anything was sent to an upstream.')
      : explanationView(explanation, ms),
  );
}

byId('filters').addEventListener('submit', (event) => {
  event.preventDefault();
  void run(showCalls);
});
for (const select of byId('filters').querySelectorAll('select'))
  select.addEventListener('change', () => void run(showCalls));
byId('clear').addEventListener('click', () => {
  for (const input of byId('filters').elements) input.value = '';
  void run(showCalls);
});
openSession(openPage);
