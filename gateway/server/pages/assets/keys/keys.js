'use strict';

const USAGE_DAYS = 30;
const { fields } = JSON.parse(byId('data').textContent);

let token = '';
let selectedKey;

/** Sends a request to the admin API. @throws Error with the message of its error response */
async function sendRequest(verb, path, body) {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  };
  const response = await fetch(`/admin/keys${path}`, { method: verb, headers, body: JSON.stringify(body) });
  const result = await response.json();
  if (!response.ok) throw new Error(result.error?.message ?? `HTTP ${response.status}`);
  return result;
}

/** Runs the action of a form or a button, and shows its message or error. */
async function run(action) {
  byId('message').textContent = '';
  try {
    const message = await action();
    byId('message').className = 'good';
    byId('message').textContent = message ?? '';
  } catch (error) {
    byId('message').className = 'bad';
    byId('message').textContent = error.message;
  }
}

function onSubmit(id, action) {
  byId(id).addEventListener('submit', (event) => {
    event.preventDefault();
    void run(action);
  });
}

async function showList() {
  const { keys } = await sendRequest('GET', '');
  const rows = keys.map((key) => [
    element('button', { type: 'button', click: () => void run(() => select(key.id)) }, key.name),
    element('code', {}, key.id),
    day(key.createdAt),
    element('span', { class: stateOf(key) === 'active' ? 'good' : 'quiet' }, stateOf(key)),
  ]);
  byId('list').replaceChildren(rows.length === 0 ? 'No keys yet.' : table(['Name', 'Id', 'Created', 'State'], rows));
  const active = keys.filter((key) => stateOf(key) === 'active').length;
  byId('summary').textContent = `${quantity(keys.length, 'key')}, ${formatNumber(active)} active`;
  byId('content').hidden = false;
}

async function select(id) {
  const [key, { usage }] = await Promise.all([
    sendRequest('GET', `/${id}`),
    sendRequest('GET', `/${id}/usage?days=${USAGE_DAYS}`),
  ]);
  selectedKey = key;
  byId('selected').hidden = false;
  byId('selected-title').textContent = key.name;
  byId('selected-facts').textContent = `${key.id}, ${stateOf(key)}, created ${day(key.createdAt)}`;
  byId('diagnostics').textContent = (key.mistakes ?? [])
    .map((text) => `Invalid record, the key is rejected: ${text}.`)
    .join(' ');
  byId('usage').replaceChildren(usagePlots(usage, USAGE_DAYS));
  byId('permission-fields').replaceChildren(...permissionInputs('permission', key.rules ?? {}));
  byId('revoke').textContent = 'Revoke';
  for (const form of ['permissions', 'rotate'])
    for (const part of byId(form).elements) part.disabled = key.revokedAt !== undefined;
  byId('selected-title').focus();
}

/** Creates a labelled input for each permission and limit. */
function permissionInputs(prefix, permissions) {
  return fields.map(({ name, title, meaning }) => {
    const id = `${prefix}-${name}`;
    const text = meaning.replaceAll('`', '').replace(`${title}: `, '');
    const label = element('label', { for: id }, element('b', {}, title), ` ${text}`);
    return element(
      'div',
      {},
      label,
      element('input', { id, class: 'code', value: permissions[name] ?? '', autocomplete: 'off' }),
    );
  });
}

/** Values that were edited: others may be changed elsewhere meanwhile. An empty input removes its permission. */
function editedPermissions(prefix) {
  const inputs = fields.map(({ name }) => [name, byId(`${prefix}-${name}`)]);
  const changed = inputs.filter(([, input]) => input.value.trim() !== input.defaultValue);
  return Object.fromEntries(changed.map(([name, { value }]) => [name, value.trim() === '' ? null : value.trim()]));
}

function showCredentials({ key, secret }) {
  const text = [key, secret === undefined ? undefined : `secret: ${secret}`]
    .filter((line) => line !== undefined)
    .join('\n');
  if (text === '') return;
  byId('credentials-text').textContent = text;
  byId('credentials-copy').replaceChildren(copyButton(() => text));
  byId('credentials').hidden = false;
  byId('credentials').scrollIntoView();
}

/** Appends the gateway's warnings to a message. */
function withWarnings(message, { warnings = [] }) {
  return [message, ...warnings.map((warning) => `Warning: ${warning}.`)].join(' ');
}

function stateOf({ revokedAt, rules, mistakes, development }) {
  if (revokedAt !== undefined) return `revoked ${day(revokedAt)}`;
  if (mistakes !== undefined) return 'rejected: invalid record';
  if (rules?.expiresAt !== undefined && Date.parse(rules.expiresAt) <= Date.now())
    return `expired ${day(rules.expiresAt)}`;
  return development ? 'development' : 'active';
}

function day(time) {
  return time.slice(0, 10);
}

onSubmit('login', async () => {
  token = byId('token').value.trim();
  await showList();
  byId('login').hidden = true;
  byId('token').value = '';
});
onSubmit('create', async () => {
  const name = byId('name').value;
  const result = await sendRequest('POST', '', {
    name,
    rules: editedPermissions('new'),
    secret: byId('secret').checked,
  });
  showCredentials(result);
  byId('create').reset();
  await showList();
  return withWarnings(`Created key ${result.id} for ${name}.`, result);
});
onSubmit('permissions', async () => {
  const { id, name } = selectedKey;
  const result = await sendRequest('PATCH', `/${id}`, { rules: editedPermissions('permission') });
  showCredentials(result);
  await Promise.all([select(id), showList()]);
  return withWarnings(`Saved permissions and limits of ${name}.`, result);
});
onSubmit('rotate', async () => {
  const grace = byId('grace').value;
  const result = await sendRequest('POST', `/${selectedKey.id}/rotate`, { grace });
  showCredentials(result);
  await Promise.all([select(result.id), showList()]);
  return withWarnings(`Key ${result.id} replaces the old key, which stays valid for ${grace}.`, result);
});
// A second click confirms, because a revocation is final.
byId('revoke').addEventListener('click', ({ target }) => {
  if (target.textContent === 'Revoke') {
    target.textContent = 'Confirm revocation';
    return;
  }
  void run(async () => {
    const { id, name } = await sendRequest('POST', `/${selectedKey.id}/revoke`, {});
    await Promise.all([select(id), showList()]);
    return `Revoked the key of ${name}.`;
  });
});
byId('create-fields').replaceChildren(...permissionInputs('new', {}));
