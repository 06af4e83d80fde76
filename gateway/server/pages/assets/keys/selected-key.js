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
  const [key, { usage, keys }] = await Promise.all([
    sendRequest('GET', `/keys/${id}`),
    sendRequest('GET', `/keys/${id}/usage?days=${USAGE_DAYS}&rotated=true`),
  ]);
  if (!isOpen(id)) return;
  selectedKey = key;
  byId('key-title').textContent = key.name;
  const team = key.permissions?.team === undefined ? '' : `, team ${key.permissions.team}`;
  const lastDay = usage.reduce((last, row) => (row.calls > 0 && row.day > last ? row.day : last), '');
  const used = lastDay === '' ? `not used in ${USAGE_DAYS} days` : `last used ${lastDay}`;
  byId('key-facts').textContent = `${key.id}, ${stateText(key)}, created ${day(key.createdAt)}, ${used}${team}`;
  byId('diagnostics').textContent = (key.mistakes ?? [])
    .map((text) => `Invalid record, the key is rejected: ${text}.`)
    .join(' ');
  byId('quotas').replaceChildren(quotaBars(key.quotas));
  const others =
    keys.length > 1
      ? [element('p', { class: 'hint' }, `With ${quantity(keys.length - 1, 'key')} that rotation replaced.`)]
      : [];
  const calls = element('a', { href: `/calls?key=${key.id}` }, 'Latest calls, and why they were rejected');
  byId('usage').replaceChildren(...others, usagePlots(usage, USAGE_DAYS), element('p', {}, calls));
  byId('new-name').value = key.name;
  fillPermissions('permission', key.permissions ?? {});
  for (const form of ['permissions', 'rotate', 'rename']) {
    clearErrors(byId(form));
    for (const part of byId(form).elements) part.disabled = key.revokedAt !== undefined;
  }
}

onSubmit('permissions', async () => {
  const { id, name } = selectedKey;
  const result = await sendRequest('PATCH', `/keys/${id}`, { permissions: editedPermissions('permission') });
  if (isOpen(id)) await showKey(id);
  return withWarnings(`Saved permissions and limits of ${name}.`, result);
});
onSubmit('rename', async () => {
  const { id } = selectedKey;
  const name = byId('new-name').value.trim();
  const result = await sendRequest('PATCH', `/keys/${id}`, { name }).catch((error) => {
    throw error.field === 'name' ? new RequestError(error.message.replace('name: ', ''), 'new-name') : error;
  });
  if (isOpen(id)) await showKey(id);
  return withWarnings(`The key ${id} has the name ${name}.`, result);
});
onSubmit('rotate', async () => {
  refuseUntilStored();
  const { id, permissions } = selectedKey;
  const grace = byId('grace').value.trim();
  const result = await sendRequest('POST', `/keys/${id}/rotate`, { grace });
  showCredentials(result, permissions?.networks, permissions?.secrets !== undefined);
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
