'use strict';

/**
 * The revocation that the open dialog asks to confirm. Undefined while the dialog is closed, however it was closed: no
 * later event can revoke anything.
 */
let pending;

/**
 * Opens the dialog. Closing it, by Escape too, revokes no further key.
 * @param done called after a confirmed revocation, also of some keys only
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

/** Revokes one key after the other, until one fails or the dialog is closed. */
async function revokePending() {
  const current = pending;
  if (current === undefined || current.hasBegun) return;
  current.hasBegun = true;
  const { keys, done } = current;
  let revoked = 0;
  let failure;
  for (const { id } of keys) {
    if (pending !== current || failure !== undefined) break;
    byId('confirm-text').textContent = `Revoking ${formatNumber(revoked + 1)} of ${formatNumber(keys.length)} …`;
    await sendRequest('POST', `/keys/${id}/revoke`, {}).then(
      () => revoked++,
      (error) => (failure = error.message),
    );
  }
  if (pending === current) byId('confirm').close();
  const isComplete = revoked === keys.length;
  const only = isComplete ? '' : ` of ${formatNumber(keys.length)}`;
  showMessage(
    `Revoked ${isComplete ? quantity(revoked, 'key') : formatNumber(revoked) + only + ' keys'}. ${failure ?? ''}`.trim(),
    isComplete ? 'good' : 'bad',
  );
  await done();
}

byId('confirm').addEventListener('close', () => {
  pending = undefined;
});
byId('confirm-cancel').addEventListener('click', () => byId('confirm').close());
byId('confirm-revoke').addEventListener('click', () => void revokePending());
