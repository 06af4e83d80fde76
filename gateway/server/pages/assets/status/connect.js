'use strict';

/**
 * Shows how to connect to a network at a base URL, without a key if the network permits it. The key stays in this page until it
 * is added to a wallet.
 */
function connect(network, baseUrl, keyInPath) {
  const key = byId('key');
  key.value = decoded(keyInPath);
  const isPublic = network.public !== undefined;
  byId('public').hidden = !isPublic;
  byId('public').textContent = `Without a key, ${publicLimits(network.public ?? {})}.`;
  const facts = () => {
    const entered = encodeURIComponent(key.value.trim());
    const path = entered === '' && isPublic ? '' : `/v3/${entered || '<your key>'}`;
    return { ...network, url: baseUrl + path, socketUrl: `${baseUrl.replace(/^http/, 'ws')}/ws${path}` };
  };
  const showSnippet = fillTabs(byId('tabs'), byId('snippet'), Object.keys(snippets), (name) => {
    byId('snippet').textContent = snippets[name](facts());
  });
  byId('copy').replaceChildren(copyButton(() => byId('snippet').textContent));
  key.addEventListener('input', showSnippet);
  offerWallets(network, facts, key);
  byId('connect').hidden = false;
}

/** Offers a button for each wallet that announces itself (EIP-6963), else for the injected one (EIP-1193). */
function offerWallets(network, facts, key) {
  const known = new Set();
  const wallets = byId('wallets');
  const none = element('span', { class: 'quiet' }, 'No wallet extension found.');
  const offer = (id, name, icon, provider) => {
    if (known.has(id)) return;
    known.add(id);
    none.remove();
    const image = icon?.startsWith('data:image/') === true ? element('img', { src: icon, alt: '' }) : undefined;
    const click = () => addNetwork(name, provider, network, facts(), key);
    wallets.append(element('button', { type: 'button', class: 'main', click }, image, `Add to ${name}`));
  };
  wallets.replaceChildren(none);
  window.addEventListener('eip6963:announceProvider', ({ detail: { info, provider } }) => {
    offer(info.uuid, info.name, info.icon, provider);
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  setTimeout(() => {
    if (known.size === 0 && window.ethereum !== undefined) offer('injected', 'your wallet', undefined, window.ethereum);
  }, 500);
}

/** Adds the network to a wallet (EIP-3085). */
async function addNetwork(wallet, provider, network, { url }, key) {
  const { name, chainId, currency, explorer } = network;
  const message = byId('wallet-message');
  if (key.value.trim() === '' && network.public === undefined) {
    message.textContent = 'Enter your key first: the wallet stores the address with the key.';
    key.focus();
    return;
  }
  try {
    const chain = {
      chainId: `0x${chainId.toString(16)}`,
      chainName: name,
      nativeCurrency: currency,
      rpcUrls: [url],
      ...(explorer !== undefined && { blockExplorerUrls: [explorer] }),
    };
    await provider.request({ method: 'wallet_addEthereumChain', params: [chain] });
    message.textContent = `Added to ${wallet}.`;
  } catch (error) {
    message.textContent = `${wallet} did not add the network: ${error.message ?? 'it gave no reason'}`;
  }
}
