'use strict';

const views = ['list', 'key', 'create'];

/**
 * Shows what the URL's fragment names: a key by its id, the form for a new one, or the list. Then focuses its title, or
 * the link from which the reader came; not while the focus is on new credentials.
 */
async function route() {
  if (token === '') return;
  const target = location.hash.slice(1);
  const view = target === '' ? 'list' : target === 'new' ? 'create' : 'key';
  const previous = selectedKey?.id;
  selectedKey = undefined;
  // Its buttons have no key until the next one is loaded.
  byId('key-view').hidden = true;
  // The message about a new key stays as long as the key.
  if (byId('credentials').hidden) showMessage('');
  if (view === 'list') await showList();
  if (view === 'key') {
    try {
      await showKey(target);
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

function showView(shown) {
  for (const view of views) byId(`${view}-view`).hidden = view !== shown;
}

onSubmit('login', async () => {
  token = byId('token').value.trim();
  try {
    gateway = await sendRequest('GET', '/networks');
  } catch (error) {
    token = '';
    throw error;
  }
  byId('login').hidden = true;
  byId('token').value = '';
  byId('views').hidden = false;
  await route();
});
onSubmit('create', async () => {
  refuseUntilStored();
  const name = byId('name').value;
  const rules = editedPermissions('new');
  const secret = byId('secret').checked;
  const result = await sendRequest('POST', '/keys', { name, rules, secret });
  showCredentials(result, rules.networks);
  byId('create').reset();
  byId('restrictions').open = false;
  location.hash = '';
  return withWarnings(`Created key ${result.id} for ${name.trim()}.`, result);
});
byId('stored').addEventListener('click', () => {
  hideCredentials();
  const view = views.find((name) => !byId(`${name}-view`).hidden) ?? 'list';
  byId(`${view}-title`).focus();
});
byId('create-fields').replaceChildren(...permissionInputs('new'));
byId('permission-fields').replaceChildren(...permissionInputs('permission'));
window.addEventListener('hashchange', () => void route());
