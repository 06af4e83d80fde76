'use strict';

const views = ['list', 'key', 'create', 'team'];

/**
 * Shows what the URL's fragment names: a key by its id, a team, the form for a new key, or the list. Then focuses its title, or
 * the link from which the reader came; not while the focus is on new credentials.
 */
async function route() {
  if (token === '') return;
  const target = location.hash.slice(1);
  const view = viewOf(target);
  const previous = selectedKey?.id;
  selectedKey = undefined;
  // Its buttons have no key until the next one is loaded.
  byId('key-view').hidden = true;
  // The message about a new key stays as long as the key.
  if (byId('credentials').hidden) showMessage('');
  if (view === 'list') await showList();
  if (view === 'key' || view === 'team') {
    try {
      await (view === 'key' ? showKey(target) : showTeam(target));
    } catch (error) {
      if (!isOpen(target)) return;
      showMessage(error.message, 'bad');
      history.replaceState(null, '', '#');
      await showList();
      if (isOpen('')) showView('list');
      return;
    }
  }
  if (!isOpen(target)) return;
  showView(view);
  if (byId('credentials').contains(document.activeElement)) return;
  const link = view === 'list' && previous !== undefined ? byId('list').querySelector(`a[href="#${previous}"]`) : null;
  (link ?? byId(`${view}-title`)).focus();
}

function viewOf(target) {
  if (target === '') return 'list';
  if (target === 'new') return 'create';
  return target.startsWith('team:') ? 'team' : 'key';
}

function showView(shown) {
  for (const view of views) byId(`${view}-view`).hidden = view !== shown;
}

openSession(async () => {
  [gateway, choices] = await Promise.all([sendRequest('GET', '/networks'), sendRequest('GET', '/choices')]);
  fillTeams();
  fillPermissions('new', {});
  byId('views').hidden = false;
  await route();
});
onSubmit('create', async () => {
  refuseUntilStored();
  const name = byId('name').value;
  const permissions = editedPermissions('new');
  const secret = byId('secret').checked;
  const result = await sendRequest('POST', '/keys', { name, permissions, secret });
  showCredentials(result, permissions.networks);
  byId('create').reset();
  fillPermissions('new', {});
  location.hash = '';
  return withWarnings(`Created key ${result.id} for ${name.trim()}.`, result);
});
byId('stored').addEventListener('click', () => {
  hideCredentials();
  const view = views.find((name) => !byId(`${name}-view`).hidden) ?? 'list';
  byId(`${view}-title`).focus();
});
byId('create-fields').replaceChildren(...permissionGroups('new'));
byId('permission-fields').replaceChildren(...permissionGroups('permission'));
// A reload would lose a key that is shown only once.
window.addEventListener('beforeunload', (event) => {
  if (!byId('credentials').hidden) event.preventDefault();
});
window.addEventListener('hashchange', () => void route());
