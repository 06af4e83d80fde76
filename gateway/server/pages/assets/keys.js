'use strict';

const snippetClients = ['curl', 'ethers', 'viem', 'MetaMask'];
const noNetwork = { slug: '', name: 'Network', chainId: 1, currency: { name: 'Ether', symbol: 'ETH', decimals: 18 } };

/** The view that is shown: `list`, `key`, `create` or `team`. Undefined: it is being loaded. */
let shownView;
/** A new key or secret, until it is stored. */
let credentials;
/** The keys that the open dialog asks to revoke; undefined while it is closed: no later event can revoke anything. */
let revocation;

/**
 * Shows what the URL's fragment names: a key by its id, a team, the form for a new key, or the list. Then focuses its title, or
 * the link from which the reader came; not while the focus is on new credentials.
 */
async function route() {
  if (token === '') return;
  const target = location.hash.slice(1);
  const next = viewOf(target);
  const previous = selectedKey?.id;
  selectedKey = undefined;
  // Its buttons have no key until the next one is loaded.
  if (shownView === 'key') shownView = undefined;
  // The message about a new key stays as long as the key.
  if (credentials === undefined) showMessage('');
  draw();
  if (next === 'list') await showList();
  if (next === 'key' || next === 'team') {
    try {
      await (next === 'key' ? showKey(target) : showTeam(target));
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
  showView(next);
  if (byId('credentials').contains(document.activeElement)) return;
  const link = next === 'list' && previous !== undefined ? byId('list').querySelector(`a[href="#${previous}"]`) : null;
  (link ?? byId(`${next}-title`)).focus();
}

function viewOf(target) {
  if (target === '') return 'list';
  if (target === 'new') return 'create';
  return target.startsWith('team:') ? 'team' : 'key';
}

function showView(name) {
  shownView = name;
  draw();
}

function view() {
  const body = html`${credentialsView()} ${listView(shownView === 'list')} ${keyView(shownView === 'key')}
  ${teamView(shownView === 'team')} ${createView(shownView === 'create')} ${revocationView()}`;
  return adminView(pageHeader('Keys', totals), body);
}

function createView(isShown) {
  return html`<section id="create-view" class="card" aria-labelledby="create-title" hidden=${!isShown}>
    <p><a href="#">Back to all keys</a></p>
    <h2 id="create-title" tabindex="-1">Create a key</h2>
    <form id="create" novalidate onSubmit=${submits(create)}>
      ${field('name', 'Name of its user or application', textInput('name'))}
      <label class="check"><input id="secret" type="checkbox" /> Require a secret with every request</label>
      <p class="hint">An empty field restricts nothing. Entries are separated by commas.</p>
      <div id="create-fields">${permissionGroups('new')}</div>
      <button class="main">Create</button>
    </form>
  </section>`;
}

async function create() {
  requireStored();
  const name = byId('name').value;
  const permissions = editedPermissions('new');
  const secret = byId('secret').checked;
  const result = await sendRequest('POST', '/keys', { name, permissions, secret });
  showCredentials(result, permissions.networks);
  resetForm('create');
  location.hash = '';
  return withWarnings(`Created key ${result.id} for ${name.trim()}.`, result);
}

/**
 * Shows a new key or secret until it is stored, with code that connects with it. It does not depend on the list.
 * @param slugs networks that the key may use, with commas; undefined: all
 * @param requiresSecret whether the key has a secret that is not shown again
 */
function showCredentials({ key, secret }, slugs, requiresSecret = false) {
  if (key === undefined && secret === undefined) return;
  const allowed = slugs?.split(',').map((slug) => slug.trim());
  const networks = gateway.networks.filter(({ slug }) => allowed?.includes(slug) ?? true);
  credentials = { key, secret, networks, hasSecret: secret !== undefined || requiresSecret };
  draw();
  byId('credentials-title').focus();
}

function credentialsView() {
  const { key, secret, networks = [], hasSecret } = credentials ?? {};
  const parts = Object.entries({ Key: key, Secret: secret }).filter(([, text]) => text !== undefined);
  const part = ([label, text]) =>
    html`<h3>${label}</h3>
      <pre id="credential-${label.toLowerCase()}" tabindex="0" aria-label=${label}>${text}</pre>
      ${copyButton(() => text, `Copy ${label.toLowerCase()}`)}`;
  const names = Object.fromEntries(networks.map(({ slug, name }) => [slug, name]));
  const network = networks.find(({ slug }) => slug === byId('network')?.value) ?? networks[0] ?? noNetwork;
  const url = `${baseUrlOf(network)}/v3/${key ?? '<your key>'}`;
  const facts = { ...network, secret: secret ?? '<your secret>', url };
  const known = hasSecret ? secretSnippets : snippets;
  const clients = snippetClients.filter((client) => client in known);
  const texts = Object.fromEntries(clients.map((client) => [client, () => known[client](facts)]));
  return html`<section
    id="credentials"
    class="card"
    aria-labelledby="credentials-title"
    hidden=${credentials === undefined}
  >
    <h2 id="credentials-title" tabindex="-1">Store this now: it is shown only once</h2>
    <div>${parts.map(part)}</div>
    <h3>Connect</h3>
    <label for="network">Network</label>
    ${select('network', names, { onChange: draw })} ${credentials && tabList('programs', 'snippet', texts)}
    <p><button id="stored" type="button" class="main" onClick=${forgetCredentials}>I have stored it</button></p>
  </section>`;
}

/** The base URL of the network file, or the address that always works. */
function baseUrlOf({ slug, baseUrls = [] }) {
  if (slug === '') return '<base URL>';
  return baseUrls[0] ?? `${location.protocol}//${location.hostname}:${gateway.port}/${slug}`;
}

/** Another key would replace the one that is shown, which the gateway cannot show again. @throws RequestError */
function requireStored() {
  if (credentials === undefined) return;
  byId('credentials-title').focus();
  throw new RequestError('Store the key above first, and press “I have stored it”.');
}

/** Removes the key from the page. */
function forgetCredentials() {
  credentials = undefined;
  draw();
  byId(`${shownView ?? 'list'}-title`).focus();
}

/**
 * Opens the dialog. Closing it before the confirmation, by Escape too, revokes no key.
 * @param done called after a confirmed revocation, also if some keys failed
 */
function confirmRevocation(keys, done) {
  revocation = { keys, done, hasBegun: false };
  draw();
  byId('confirm').showModal();
}

function revocationView() {
  const { keys = [], hasBegun } = revocation ?? {};
  const close = () => byId('confirm').close();
  // The event may come when the dialog is open again, for other keys.
  const forget = () => {
    if (!byId('confirm').open) revocation = undefined;
  };
  const text = hasBegun
    ? `Revoking ${quantity(keys.length, 'key')} …`
    : 'Calls with a revoked key are rejected within a second. This cannot be undone.';
  return html`<dialog id="confirm" aria-labelledby="confirm-title" aria-describedby="confirm-text" onClose=${forget}>
    <h2 id="confirm-title">Revoke ${quantity(keys.length, 'key')}?</h2>
    <p id="confirm-text" role="status">${text}</p>
    <ul id="confirm-keys">
      ${keys.map(({ id, name }) => html`<li>${name} <code class="quiet">${id}</code></li>`)}
    </ul>
    <div class="row">
      <button id="confirm-cancel" type="button" autofocus onClick=${close}>Cancel</button>
      <button id="confirm-revoke" type="button" class="danger" onClick=${() => void revokeConfirmed()}>Revoke</button>
    </div>
  </dialog>`;
}

/** Revokes the keys in one request. Once it is sent, closing the dialog does not stop it. */
async function revokeConfirmed() {
  const current = revocation;
  if (current === undefined || current.hasBegun) return;
  current.hasBegun = true;
  draw();
  const { keys, done } = current;
  const { revoked, failure } = await sendRequest('POST', '/keys/revoke', { ids: keys.map(({ id }) => id) }).then(
    (result) => ({ revoked: result.revoked.length, failure: result.failed[0]?.message }),
    (error) => ({ revoked: 0, failure: error.message }),
  );
  if (revocation === current) byId('confirm').close();
  const isComplete = revoked === keys.length;
  const count = isComplete ? quantity(revoked, 'key') : `${formatNumber(revoked)} of ${formatNumber(keys.length)} keys`;
  showMessage(`Revoked ${count}. ${failure ?? ''}`.trim(), isComplete ? 'good' : 'bad');
  await done();
}

readRange('30d', ...Object.keys(usageRanges));
openSession(async () => {
  [gateway, choices] = await Promise.all([sendRequest('GET', '/networks'), sendRequest('GET', '/choices')]);
  await route();
});
// A reload would lose a key that is shown only once.
window.addEventListener('beforeunload', (event) => {
  if (credentials !== undefined) event.preventDefault();
});
window.addEventListener('hashchange', () => void route());
