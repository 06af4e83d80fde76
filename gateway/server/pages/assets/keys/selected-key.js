'use strict';

const USAGE_DAYS = 30;

let selectedKey;

/** Shows a key: its usage, permissions, and what can be done with it. @throws RequestError if there is no such key */
async function showKey(id) {
  const [key, { usage }] = await Promise.all([
    sendRequest('GET', `/keys/${id}`),
    sendRequest('GET', `/keys/${id}/usage?days=${USAGE_DAYS}`),
  ]);
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
  await showKey(id);
  return withWarnings(`Saved permissions and limits of ${name}.`, result);
});
onSubmit('rotate', async () => {
  const { id, rules } = selectedKey;
  const grace = byId('grace').value.trim();
  const result = await sendRequest('POST', `/keys/${id}/rotate`, { grace });
  showCredentials(result, rules?.networks);
  location.hash = result.id;
  return withWarnings(`Key ${result.id} replaces ${id}, which stays valid for ${grace}.`, result);
});
byId('revoke').addEventListener('click', () => {
  const key = selectedKey;
  confirmRevocation([key], async () => {
    if (selectedKey?.id === key.id) await showKey(key.id).catch(() => undefined);
    byId('key-title').focus();
  });
});
