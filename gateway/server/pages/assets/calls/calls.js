'use strict';

/** Reasons in words; others are shown as they are. */
const permissionOutcomes = new Set(['key-settings', 'secret-invalid', 'key-invalid']);
const usualOutcomes = new Set(['result', 'null', 'notification', 'revert', 'caller-left']);

async function showCalls() {
  const { params, calls } = await loadRows('/calls', byId('filters'));
  byId('summary').textContent = `${quantity(calls.length, 'row')}, parameters ${params}`;
  byId('none').hidden = calls.length > 0;
  const heads = ['Time', 'Key', 'Network', 'Method', 'Outcome', 'Why', 'Time taken', ''];
  const shown = calls.length === 0 ? [] : [table(heads, calls.map(callRow))];
  byId('calls').replaceChildren(...shown);
  for (const [index, row] of [...byId('calls').querySelectorAll('tbody tr')].entries()) addDetails(row, calls[index]);
  const upstreams = calls.flatMap(({ explanation }) => (explanation?.attempts ?? []).map(({ upstream }) => upstream));
  const values = { keys: 'key', networks: 'network', methods: 'method', outcomes: 'outcome' };
  for (const [id, name] of Object.entries(values)) {
    suggestValues(
      id,
      calls.map((call) => call[name]),
    );
  }
  suggestValues('upstreams', upstreams);
}

function callRow(call) {
  const { at, count, key, network = '–', method = '–', outcome, ms } = call;
  return [
    shortTime(at),
    key === undefined ? 'no valid key' : element('a', { href: `/keys#${key}`, class: 'code' }, key),
    network,
    element('span', {}, ...breakable(method)),
    element(
      'span',
      { class: usualOutcomes.has(outcome) ? 'good' : 'bad' },
      outcome,
      count > 1 ? ` × ${formatNumber(count)}` : '',
    ),
    whyText(call),
    `${formatNumber(ms)} ms`,
    '',
  ];
}

/** The rule that rejected the call, else the failures of its attempts. */
function whyText({ outcome, rule, unitsLeft, explanation }) {
  if (rule !== undefined && unitsLeft !== undefined) return `limit ${rule}: ${quantity(unitsLeft, 'unit')} left`;
  if (rule !== undefined) return `${permissionOutcomes.has(outcome) ? 'permission' : 'bound'} ${rule}`;
  const { attempts = [], skipped = {} } = explanation ?? {};
  const failed = attempts.filter((attempt) => !isUsable(attempt.outcome));
  const texts = [
    ...failed.map((attempt) => `${attempt.upstream}: ${attempt.outcome ?? 'in progress'}`),
    ...Object.entries(skipped).map(([upstream, reason]) => `${upstream}: skipped, ${reason}`),
  ];
  return texts.length === 0 ? (attempts.at(-1)?.upstream ?? '') : texts.join('; ');
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
    details = isOpen ? undefined : element('tr', {}, element('td', { colspan: '8' }, callDetails(call)));
    if (details !== undefined) row.after(details);
    button.setAttribute('aria-expanded', String(!isOpen));
  });
  row.lastElementChild.append(button);
}

function callDetails(call) {
  const { requestId, code, params, explanation, ms } = call;
  const facts = [
    `request ${requestId}`,
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
byId('clear').addEventListener('click', () => {
  for (const input of byId('filters').elements) input.value = '';
  void run(showCalls);
});
fillFilters(byId('filters'));
openSession(showCalls);
