'use strict';

const USAGE_DAYS = 30;

let selectedKey;

/** Whether the URL names this key. After another one was opened, a late response must not replace it. */
function isOpen(id) {
  return location.hash.slice(1) === id;
}

/**
 * Fills the view of a key: its usage, permissions, and what can be done with it. Does nothing if another view was opened
 * meanwhile. @throws RequestError if there is no such key
 */
async function showKey(id) {
  const [key, { usage }] = await Promise.all([
    sendRequest('GET', `/keys/${id}`),
    sendRequest('GET', `/keys/${id}/usage?days=${USAGE_DAYS}`),
  ]);
  if (!isOpen(id)) return;
  selectedKey = key;
  byId('key-title').textContent = key.name;
  const team = key.rules?.team === undefined ? '' : `, team ${key.rules.team}`;
  byId('key-facts').textContent = `${key.id}, ${stateText(key)}, created ${day(key.createdAt)}${team}`;
  byId('diagnostics').textContent = (key.mistakes ?? [])
    .map((text) => `Invalid record, the key is rejected: ${text}.`)
    .join(' ');
  byId('usage').replaceChildren(usagePlots(usage, USAGE_DAYS));
  fillPermissions('permission', key.rules ?? {});
  for (const form of ['permissions', 'rotate']) {
    clearErrors(byId(form));
    for (const part of byId(form).elements) part.disabled = key.revokedAt !== undefined;
  }
}

onSubmit('permissions', async () => {
  const { id, name } = selectedKey;
  const result = await sendRequest('PATCH', `/keys/${id}`, { rules: editedPermissions('permission') });
  if (isOpen(id)) await showKey(id);
  return withWarnings(`Saved permissions and limits of ${name}.`, result);
});
onSubmit('rotate', async () => {
  refuseUntilStored();
  const { id, rules } = selectedKey;
  const grace = byId('grace').value.trim();
  const result = await sendRequest('POST', `/keys/${id}/rotate`, { grace });
  showCredentials(result, rules?.networks, rules?.secrets !== undefined);
  if (isOpen(id)) location.hash = result.id;
  return withWarnings(`Key ${result.id} replaces ${id}, which stays valid for ${grace}.`, result);
});
byId('revoke').addEventListener('click', () => {
  const key = selectedKey;
  confirmRevocation([key], async () => {
    if (!isOpen(key.id)) return;
    await showKey(key.id).catch(() => undefined);
    byId('key-title').focus();
  });
});
