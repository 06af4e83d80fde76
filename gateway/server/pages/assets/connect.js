'use strict';

const wallets = [];
let walletMessage = '';

/**
 * Ways to connect to a network at a base URL, without a key if the network permits it. The key stays in this page until it is
 * added to a wallet.
 */
function connectView(network, baseUrl, keyInPath) {
  const isPublic = network.public !== undefined;
  const key = (byId('key')?.value ?? keyInPath).trim();
  const path = key === '' && isPublic ? '' : `/v3/${encodeURIComponent(key) || '<your key>'}`;
  const facts = { ...network, url: baseUrl + path, socketUrl: `${baseUrl.replace(/^http/, 'ws')}/ws${path}` };
  const texts = Object.entries(snippets).map(([name, text]) => [name, () => text(facts)]);
  const walletButton = (wallet) =>
    html`<button type="button" class="main" onClick=${() => void addNetwork(wallet, facts, key)}>
      ${wallet.icon?.startsWith('data:image/') && html`<img src=${wallet.icon} alt="" />`}Add to ${wallet.name}
    </button>`;
  return html`<section id="connect" class="card" aria-labelledby="connect-title">
    <h2 id="connect-title">Connect</h2>
    <p id="public" class="quiet" hidden=${!isPublic}>Without a key, ${publicLimits(network.public ?? {})}.</p>
    <label for="key">Your key, which stays in this page until you use the address</label>
    ${textInput('key', { class: 'code', placeholder: 'your API key', defaultValue: keyInPath, onInput: draw })}
    <h3>Wallet</h3>
    <div id="wallets" class="row">
      ${wallets.length === 0 ? html`<span class="quiet">No wallet extension found.</span>` : wallets.map(walletButton)}
    </div>
    <p id="wallet-message" role="status">${walletMessage}</p>
    <h3>Program</h3>
    ${tabList('tabs', 'snippet', Object.fromEntries(texts), 'Copy')}
  </section>`;
}

/** Finds each wallet that announces itself (EIP-6963), else the injected one (EIP-1193). */
function findWallets() {
  const offer = (id, name, icon, provider) => {
    if (wallets.some((wallet) => wallet.id === id)) return;
    wallets.push({ id, name, icon, provider });
    draw();
  };
  window.addEventListener('eip6963:announceProvider', ({ detail: { info, provider } }) => {
    offer(info.uuid, info.name, info.icon, provider);
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  setTimeout(() => {
    if (wallets.length === 0 && window.ethereum !== undefined)
      offer('injected', 'your wallet', undefined, window.ethereum);
  }, 500);
}

/** Adds the network to a wallet (EIP-3085). */
async function addNetwork(wallet, network, key) {
  const { name, chainId, currency, explorer, url } = network;
  if (key === '' && network.public === undefined) {
    walletMessage = 'Enter your key first: the wallet stores the address with the key.';
    draw();
    byId('key').focus();
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
    await wallet.provider.request({ method: 'wallet_addEthereumChain', params: [chain] });
    walletMessage = `Added to ${wallet.name}.`;
  } catch (error) {
    walletMessage = `${wallet.name} did not add the network: ${error.message ?? 'it gave no reason'}`;
  }
  draw();
}
