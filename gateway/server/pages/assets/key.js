'use strict';

const usageRanges = { '7d': '7 days', '30d': '30 days', '90d': '90 days' };
const TEAM_KEYS = 100;

/** The key of the view, with its public keys; undefined: it is being loaded, or another view is shown. */
let selectedKey;
let tokenKeys = [];
let team = { name: '', keys: [], matching: 0 };
/** The usage of the key or team of the view, with its days, and the keys whose sum it is. */
let usage = { days: 0, rows: [], keys: [] };
const loadLatestUsage = latestLoad();

/** Whether the URL names this key. After another one was opened, a late response must not replace it. */
function isOpen(id) {
  return location.hash.slice(1) === id;
}

/** Loads the usage of a key or team in the chosen range, and leaves the forms of the view as they are. @throws RequestError */
function loadUsage(target) {
  const days = daysOf(range);
  const path = `/keys/${target}/usage?days=${days}&rotated=true`;
  return loadLatestUsage(
    (signal) => sendRequest('GET', path, undefined, signal),
    (loaded) => {
      usage = { days, rows: loaded.usage, keys: loaded.keys };
      draw();
    },
  );
}

/**
 * Fills the view of a key: its usage, permissions, and what can be done with it. Does nothing if another view was opened
 * meanwhile. @throws RequestError if there is no such key
 */
async function showKey(id) {
  const [key, tokens] = await Promise.all([
    sendRequest('GET', `/keys/${id}`),
    sendRequest('GET', `/keys/${id}/tokens`),
    loadUsage(id),
  ]);
  if (!isOpen(id)) return;
  [selectedKey, tokenKeys] = [key, tokens.tokenKeys];
  for (const form of ['rename', 'permissions', 'rotate', 'add-token-key']) {
    resetForm(form);
    for (const part of byId(form).elements) part.disabled = key.revokedAt !== undefined;
  }
}

function keyView(isShown) {
  const key = selectedKey ?? { id: '', name: '', createdAt: '', state: '' };
  const { id, name, permissions = {}, createdAt, mistakes = [], quotas } = key;
  const lastDay = usage.rows.reduce((last, row) => (row.calls > 0 && row.day > last ? row.day : last), '');
  const used = lastDay === '' ? `not used in ${usage.days} days` : `last used ${lastDay}`;
  const ofTeam = permissions.team === undefined ? '' : `, team ${permissions.team}`;
  const isRevoked = key.revokedAt !== undefined;
  const revoke = () => {
    confirmRevocation([key], async () => {
      if (!isOpen(id)) return;
      await showKey(id).catch(() => undefined);
      byId('key-title').focus();
    });
  };
  return html`<section id="key-view" class="card" aria-labelledby="key-title" hidden=${!isShown}>
    <p><a href="#">Back to all keys</a></p>
    <h2 id="key-title" tabindex="-1">${name}</h2>
    <p id="key-facts" class="quiet">${id}, ${stateText(key)}, created ${day(createdAt)}, ${used}${ofTeam}</p>
    <p id="diagnostics" class="bad">
      ${mistakes.map((text) => `Invalid record, the key is rejected: ${text}.`).join(' ')}
    </p>
    <div id="quotas">${quotaBars(quotas)}</div>
    ${isShown && usageView(id)}
    <p><a href="/calls?key=${id}">Latest calls, and why they were rejected</a></p>
    <h3>Name</h3>
    <form id="rename" novalidate onSubmit=${submits(rename)}>
      ${field(
        'new-name',
        'Name of its user or application',
        html`<div class="row">
          ${textInput('new-name', { maxlength: 64, defaultValue: name })}
          <button>Rename</button>
        </div>`,
      )}
    </form>
    <h3>Permissions and limits</h3>
    <p class="hint">An empty field restricts nothing. Entries are separated by commas.</p>
    <form id="permissions" novalidate onSubmit=${submits(savePermissions)}>
      ${permissionGroups('permission', permissions)}
      <button class="main">Save</button>
    </form>
    <h3>Public keys of tokens</h3>
    ${tokenKeysView(isRevoked)}
    <h3>Rotate or revoke</h3>
    <form id="rotate" novalidate onSubmit=${submits(rotate)}>
      ${field(
        'grace',
        'The old key stays valid for',
        html`<div class="row">
          ${textInput('grace', { defaultValue: '24h', 'aria-describedby': 'grace-hint' })}
          <button>Rotate</button>
          <button id="revoke" type="button" class="danger" onClick=${revoke}>Revoke</button>
        </div>`,
        'A time such as 7d, 24h or 0m. The new key has the same permissions.',
      )}
    </form>
  </section>`;
}

/** The usage of a key, with those that it replaced, or of a team. */
function usageView(target) {
  const { days, rows, keys } = usage;
  const replaced = target.startsWith('team:') ? 0 : keys.length - 1;
  return html`<h3>Usage in the last ${days} days</h3>
    ${rangeButtons(usageRanges, () => reload(() => loadUsage(target)))}
    <div id="usage">
      ${replaced > 0 && html`<p class="hint">With ${quantity(replaced, 'key')} that rotation replaced.</p>`}
      ${usagePlots(days, rows)}
    </div>`;
}

/** The public keys with which tokens of the key are verified. */
function tokenKeysView(isRevoked) {
  const rows = tokenKeys.map(({ kid, name, algorithm }) => [
    name,
    algorithm,
    html`<code>${kid}</code>`,
    html`<button
      type="button"
      class="danger"
      aria-label="Remove ${name}"
      disabled=${isRevoked}
      onClick=${() => void run(() => removeTokenKey(kid, name))}
    >
      Remove
    </button>`,
  ]);
  return html`<div id="token-keys">
      ${
        rows.length === 0
          ? html`<p class="quiet">None: the key itself is sent with requests.</p>`
          : table(['Name', 'Algorithm', 'kid', ''], rows)
      }
    </div>
    <form id="add-token-key" novalidate onSubmit=${submits(addTokenKey)}>
      ${field('token-key-name', 'Name', textInput('token-key-name', { maxlength: 40 }))}
      ${field(
        'publicKey',
        'Public key, as PEM',
        html`<textarea id="publicKey" rows="4" spellcheck=${false} aria-describedby="publicKey-hint"></textarea>`,
        'RSA, or EC on P-256. At most three.',
      )}
      <button>Add</button>
    </form>`;
}

/** Does what a form of the view says, and loads the key again. @param act returns the message */
async function changeKey(act) {
  const { id } = selectedKey;
  const text = await act(selectedKey);
  if (isOpen(id)) await showKey(id);
  return text;
}

/** An error of the field `name` is shown beside this input. */
function atInput(input) {
  return (error) => {
    throw error.field === 'name' ? new RequestError(error.message.replace('name: ', ''), input) : error;
  };
}

function rename() {
  return changeKey(async ({ id }) => {
    const name = byId('new-name').value.trim();
    const result = await sendRequest('PATCH', `/keys/${id}`, { name }).catch(atInput('new-name'));
    return withWarnings(`The key ${id} has the name ${name}.`, result);
  });
}

function savePermissions() {
  return changeKey(async ({ id, name }) => {
    const result = await sendRequest('PATCH', `/keys/${id}`, { permissions: editedPermissions('permission') });
    return withWarnings(`Saved permissions and limits of ${name}.`, result);
  });
}

function addTokenKey() {
  return changeKey(async ({ id }) => {
    const body = { name: byId('token-key-name').value.trim(), publicKey: byId('publicKey').value };
    await sendRequest('POST', `/keys/${id}/tokens`, body).catch(atInput('token-key-name'));
    return `Tokens that ${body.name} signs are accepted.`;
  });
}

function removeTokenKey(kid, name) {
  return changeKey(async ({ id }) => {
    await sendRequest('DELETE', `/keys/${id}/tokens/${kid}`);
    return `Tokens that ${name} signed are rejected within a second.`;
  });
}

async function rotate() {
  requireStored();
  const { id, permissions } = selectedKey;
  const grace = byId('grace').value.trim();
  const result = await sendRequest('POST', `/keys/${id}/rotate`, { grace });
  showCredentials(result, permissions?.networks, permissions?.secrets !== undefined);
  if (isOpen(id)) location.hash = result.id;
  return withWarnings(`Key ${result.id} replaces ${id}, which stays valid for ${grace}.`, result);
}

/** Fills the view of a team: its quotas, usage and keys. @param target `team:<name>` @throws RequestError */
async function showTeam(target) {
  const name = target.slice('team:'.length);
  const parameters = new URLSearchParams({ team: name, sort: '-use', days: LIST_USAGE_DAYS, limit: TEAM_KEYS });
  const [{ keys, matching }] = await Promise.all([sendRequest('GET', `/keys?${parameters}`), loadUsage(target)]);
  if (!isOpen(target)) return;
  team = { name, keys, matching };
  draw();
}

function teamView(isShown) {
  const { name, keys, matching } = team;
  const rows = keys.map((key) => [
    html`<a href="#${key.id}">${key.name}</a>`,
    html`<span class=${stateStyles[key.state] ?? 'quiet'}>${stateText(key)}</span>`,
    lastUsed(key),
    key.usage === undefined ? '–' : formatNumber(key.usage.calls),
  ]);
  return html`<section class="card" aria-labelledby="team-title" hidden=${!isShown}>
    <p><a href="#">Back to all keys</a></p>
    <h2 id="team-title" tabindex="-1">Team ${name}</h2>
    <p class="quiet">${quantity(matching, 'key')}, which share counts of limits</p>
    <div id="team-quotas">${quotaBars(keys.find(({ quotas }) => quotas !== undefined)?.quotas)}</div>
    ${isShown && usageView(`team:${name}`)}
    <h3>Keys</h3>
    <div id="team-keys">${table(['Name', 'State', 'Last used', 'Calls, 7 days'], rows)}</div>
  </section>`;
}
