'use strict';

const snippetClients = ['curl', 'ethers', 'viem', 'MetaMask'];
const noNetwork = { slug: '', name: 'Network', chainId: 1, currency: { name: 'Ether', symbol: 'ETH', decimals: 18 } };

/** The networks of the gateway, and the port of their addresses: loaded when the token is entered. */
let gateway = { networks: [], port: 0 };

/**
 * Shows a new key or secret until it is stored, with code that connects with it. It does not depend on the list.
 * @param slugs networks that the key may use, with commas; undefined: all
 * @param requiresSecret whether the key has a secret that is not shown again
 */
function showCredentials({ key, secret }, slugs, requiresSecret = false) {
  if (key === undefined && secret === undefined) return;
  const parts = Object.entries({ Key: key, Secret: secret }).filter(([, text]) => text !== undefined);
  byId('credential-list').replaceChildren(...parts.flatMap(([label, text]) => credential(label, text)));
  const allowed = slugs?.split(',').map((slug) => slug.trim());
  const networks = gateway.networks.filter(({ slug }) => allowed?.includes(slug) ?? true);
  byId('network').replaceChildren(...networks.map(({ slug, name }) => element('option', { value: slug }, name)));
  const facts = () => {
    const network = networks[byId('network').selectedIndex] ?? noNetwork;
    return { ...network, secret: secret ?? '<your secret>', url: `${baseUrlOf(network)}/v3/${key ?? '<your key>'}` };
  };
  const known = secret === undefined && !requiresSecret ? snippets : secretSnippets;
  const clients = snippetClients.filter((client) => client in known);
  byId('network').onchange = fillTabs(byId('programs'), byId('snippet'), clients, (client) => {
    byId('snippet').textContent = known[client](facts());
  });
  byId('snippet-copy').replaceChildren(copyButton(() => byId('snippet').textContent, 'Copy code'));
  byId('credentials').hidden = false;
  byId('credentials-title').focus();
}

function credential(label, text) {
  const id = `credential-${label.toLowerCase()}`;
  return [
    element('h3', {}, label),
    element('pre', { id, class: 'wrap', tabindex: '0', 'aria-label': label }, text),
    copyButton(() => text, `Copy ${label.toLowerCase()}`),
  ];
}

/** The base URL of the network file, or the address that always works. */
function baseUrlOf({ slug, baseUrls = [] }) {
  if (slug === '') return '<base URL>';
  return baseUrls[0] ?? `${location.protocol}//${location.hostname}:${gateway.port}/${slug}`;
}

/** Another key would replace the one that is shown, which the gateway cannot show again. @throws RequestError */
function refuseUntilStored() {
  if (byId('credentials').hidden) return;
  byId('credentials-title').focus();
  throw new RequestError('Store the key above first, and press “I have stored it”.');
}

/** Removes the key from the page. */
function hideCredentials() {
  byId('credentials').hidden = true;
  for (const id of ['credential-list', 'snippet', 'snippet-copy']) byId(id).replaceChildren();
  byId('network').onchange = null;
}
