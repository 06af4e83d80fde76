'use strict';

/**
 * The revocation that the open dialog asks to confirm. Undefined while the dialog is closed, however it was closed: no
 * later event can revoke anything.
 */
let pending;

/**
 * Opens the dialog. Closing it before the confirmation, by Escape too, revokes no key.
 * @param done called after a confirmed revocation, also if some keys failed
 */
function confirmRevocation(keys, done) {
  pending = { keys, done, hasBegun: false };
  byId('confirm-title').textContent = `Revoke ${quantity(keys.length, 'key')}?`;
  byId('confirm-text').textContent = 'Calls with a revoked key are rejected within a second. This cannot be undone.';
  byId('confirm-keys').replaceChildren(
    ...keys.map(({ id, name }) => element('li', {}, name, ' ', element('code', { class: 'quiet' }, id))),
  );
  byId('confirm').showModal();
}

/** Revokes the keys in one request. Once it is sent, closing the dialog does not stop it. */
async function revokePending() {
  const current = pending;
  if (current === undefined || current.hasBegun) return;
  current.hasBegun = true;
  const { keys, done } = current;
  byId('confirm-text').textContent = `Revoking ${quantity(keys.length, 'key')} …`;
  const { revoked, failure } = await sendRequest('POST', '/keys/revoke', { ids: keys.map(({ id }) => id) }).then(
    (result) => ({ revoked: result.revoked.length, failure: result.failed[0]?.message }),
    (error) => ({ revoked: 0, failure: error.message }),
  );
  if (pending === current) byId('confirm').close();
  const isComplete = revoked === keys.length;
  const only = isComplete ? '' : ` of ${formatNumber(keys.length)}`;
  showMessage(
    `Revoked ${isComplete ? quantity(revoked, 'key') : formatNumber(revoked) + only + ' keys'}. ${failure ?? ''}`.trim(),
    isComplete ? 'good' : 'bad',
  );
  await done();
}

// The event may come when the dialog is open again, for other keys.
byId('confirm').addEventListener('close', () => {
  if (!byId('confirm').open) pending = undefined;
});
byId('confirm-cancel').addEventListener('click', () => byId('confirm').close());
byId('confirm-revoke').addEventListener('click', () => void revokePending());
