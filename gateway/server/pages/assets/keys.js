'use strict';

const USAGE_DAYS = 30;
const { fields } = JSON.parse(byId('data').textContent);

let token = '';
let chosen;

/** Asks the admin API. @throws Error with what it says in refusal */
async function ask(verb, path, body) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await fetch(`/admin/keys${path}`, { method: verb, headers, body: JSON.stringify(body) });
  const said = await response.json();
  if (!response.ok) throw new Error(said.error?.message ?? `HTTP ${response.status}`);
  return said;
}

/** Does something for a form or a button, and tells what became of it. */
async function act(work) {
  byId('answer').textContent = '';
  try {
    const sentence = await work();
    byId('answer').className = 'good';
    byId('answer').textContent = sentence ?? '';
  } catch (error) {
    byId('answer').className = 'bad';
    byId('answer').textContent = error.message;
  }
}

function onSubmit(id, work) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void act(work);
  });
}

async function showList() {
  const { keys } = await ask('GET', '');
  const rows = keys.map((key) => [
    element('button', { type: 'button', click: () => void act(() => choose(key.id)) }, key.name),
    element('code', {}, key.id),
    day(key.createdAt),
    element('span', { class: stateOf(key) === 'live' ? 'good' : 'quiet' }, stateOf(key)),
  ]);
  byId('list').replaceChildren(rows.length === 0 ? 'None yet.' : table(['Name', 'Id', 'Created', 'State'], rows));
  const live = keys.filter((key) => stateOf(key) === 'live').length;
  byId('summary').textContent = `${count(keys.length)} in all, ${count(live)} live`;
  byId('inside').hidden = false;
}

async function choose(id) {
  const [key, { usage }] = await Promise.all([ask('GET', `/${id}`), ask('GET', `/${id}/usage?days=${USAGE_DAYS}`)]);
  chosen = key;
  byId('one').hidden = false;
  byId('one-title').textContent = key.name;
  byId('one-facts').textContent = `${key.id}, ${stateOf(key)}, made ${day(key.createdAt)}`;
  byId('mistakes').textContent = (key.mistakes ?? []).map((mistake) => `Refused until mended: ${mistake}`).join(' ');
  byId('usage').replaceChildren(usagePlots(usage, USAGE_DAYS));
  byId('rule-fields').replaceChildren(...ruleInputs('rule', key.rules ?? {}));
  byId('revoke').textContent = 'Revoke';
  for (const form of ['rules', 'rotate'])
    for (const part of byId(form).elements) part.disabled = key.revokedAt !== undefined;
  byId('one-title').focus();
}

/** An input for each rule, with what it means. */
function ruleInputs(prefix, rules) {
  return fields.map(({ name, meaning }) => {
    const id = `${prefix}-${name}`;
    const label = element('label', { for: id }, element('b', {}, name), ` ${meaning.replaceAll('`', '')}`);
    return element(
      'div',
      {},
      label,
      element('input', { id, class: 'code', value: rules[name] ?? '', autocomplete: 'off' }),
    );
  });
}

/** What was changed, and nothing else, which somebody else may change meanwhile; what is empty takes a rule away. */
function rulesFrom(prefix) {
  const inputs = fields.map(({ name }) => [name, byId(`${prefix}-${name}`)]);
  const changed = inputs.filter(([, input]) => input.value.trim() !== input.defaultValue);
  return Object.fromEntries(changed.map(([name, { value }]) => [name, value.trim() === '' ? null : value.trim()]));
}

function showOnce({ key, secret }) {
  const text = [key, secret === undefined ? undefined : `secret: ${secret}`]
    .filter((line) => line !== undefined)
    .join('\n');
  if (text === '') return;
  byId('once-text').textContent = text;
  byId('once-copy').replaceChildren(copyButton(() => text));
  byId('once').hidden = false;
  byId('once').scrollIntoView();
}

/** What the gateway warns of, behind what was done. */
function withWarnings(sentence, { warnings = [] }) {
  return [sentence, ...warnings.map((warning) => `Warning: ${warning}.`)].join(' ');
}

function stateOf({ revokedAt, rules, mistakes, development }) {
  if (revokedAt !== undefined) return `revoked ${day(revokedAt)}`;
  if (mistakes !== undefined) return 'refused: its record has mistakes';
  if (rules?.expiresAt !== undefined && Date.parse(rules.expiresAt) <= Date.now())
    return `expired ${day(rules.expiresAt)}`;
  return development ? 'development' : 'live';
}

function day(time) {
  return time.slice(0, 10);
}

onSubmit('door', async () => {
  token = byId('token').value.trim();
  await showList();
  byId('door').hidden = true;
  byId('token').value = '';
});
onSubmit('create', async () => {
  const name = byId('name').value;
  const made = await ask('POST', '', { name, rules: rulesFrom('new'), secret: byId('secret').checked });
  showOnce(made);
  byId('create').reset();
  await showList();
  return withWarnings(`${name} has the key ${made.id}.`, made);
});
onSubmit('rules', async () => {
  const { id, name } = chosen;
  const made = await ask('PATCH', `/${id}`, { rules: rulesFrom('rule') });
  showOnce(made);
  await Promise.all([choose(id), showList()]);
  return withWarnings(`What ${name} may do is changed.`, made);
});
onSubmit('rotate', async () => {
  const grace = byId('grace').value;
  const made = await ask('POST', `/${chosen.id}/rotate`, { grace });
  showOnce(made);
  await Promise.all([choose(made.id), showList()]);
  return withWarnings(`${made.id} takes the place of the old key, which goes on for ${grace}.`, made);
});
// Twice, since it cannot be taken back.
byId('revoke').addEventListener('click', ({ target }) => {
  if (target.textContent === 'Revoke') {
    target.textContent = 'Really revoke it?';
    return;
  }
  void act(async () => {
    const { id, name } = await ask('POST', `/${chosen.id}/revoke`, {});
    await Promise.all([choose(id), showList()]);
    return `${name} is revoked.`;
  });
});
byId('create-fields').replaceChildren(...ruleInputs('new', {}));
