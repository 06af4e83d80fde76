'use strict';

/** Code or settings that connect to a network, by client. */
const snippets = {
  curl: ({ url }) =>
    `curl -sS ${url} \\\n  -H 'content-type: application/json' \\\n  -d '{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}'`,
  ethers: ({ url, chainId }) =>
    `import { JsonRpcProvider } from 'ethers';\n\nconst provider = new JsonRpcProvider('${url}', ${chainId}, { staticNetwork: true });\nconsole.log(await provider.getBlockNumber());`,
  viem: ({ url, name, chainId, currency }) =>
    `import { createPublicClient, defineChain, http } from 'viem';\n\nconst chain = defineChain({\n  id: ${chainId},\n  name: ${JSON.stringify(name)},\n  nativeCurrency: ${JSON.stringify(currency)},\n  rpcUrls: { default: { http: ['${url}'] } },\n});\nconst client = createPublicClient({ chain, transport: http() });\nconsole.log(await client.getBlockNumber());`,
  wagmi: ({ url, name, chainId, currency }) =>
    `import { createConfig, http } from 'wagmi';\nimport { defineChain } from 'viem';\n\nconst chain = defineChain({\n  id: ${chainId},\n  name: ${JSON.stringify(name)},\n  nativeCurrency: ${JSON.stringify(currency)},\n  rpcUrls: { default: { http: ['${url}'] } },\n});\nexport const config = createConfig({ chains: [chain], transports: { [chain.id]: http() } });`,
  'web3.js': ({ url }) =>
    `import { Web3 } from 'web3';\n\nconst web3 = new Web3('${url}');\nconsole.log(await web3.eth.getBlockNumber());`,
  cast: ({ url }) => `cast block-number --rpc-url ${url}`,
  WebSocket: ({ socketUrl }) =>
    `const socket = new WebSocket('${socketUrl}');\nsocket.onopen = () => socket.send('{"jsonrpc":"2.0","id":1,"method":"eth_blockNumber","params":[]}');\nsocket.onmessage = ({ data }) => console.log(data);`,
  MetaMask: ({ url, name, chainId, currency, explorer }) =>
    `Settings, Networks, Add a network:\n\nNetwork name        ${name}\nDefault RPC URL     ${url}\nChain ID            ${chainId}\nCurrency symbol     ${currency.symbol}\nBlock explorer URL  ${explorer ?? '(none)'}`,
};

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    // The key contains a percent sign that escapes nothing.
    return text;
  }
}

/** Shows how to connect to a network at a base URL. The key stays in this page until it is added to a wallet. */
function connect(network, baseUrl, keyInPath) {
  const key = byId('key');
  key.value = decoded(keyInPath);
  let selected = 'curl';
  const facts = () => {
    const keyText = encodeURIComponent(key.value.trim()) || '<your key>';
    return {
      ...network,
      url: `${baseUrl}/v3/${keyText}`,
      socketUrl: `${baseUrl.replace(/^http/, 'ws')}/ws/v3/${keyText}`,
    };
  };
  const showSnippet = () => {
    byId('snippet').textContent = snippets[selected](facts());
    for (const tab of byId('tabs').children) {
      tab.setAttribute('aria-selected', String(tab.textContent === selected));
      tab.tabIndex = tab.textContent === selected ? 0 : -1;
    }
  };
  const select = (name) => {
    selected = name;
    showSnippet();
  };
  const tabs = Object.keys(snippets).map((name) =>
    element('button', { type: 'button', role: 'tab', 'aria-controls': 'snippet', click: () => select(name) }, name),
  );
  byId('tabs').replaceChildren(...tabs);
  byId('tabs').addEventListener('keydown', ({ key: pressed }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[pressed];
    if (step === undefined) return;
    const index = tabs.findIndex((tab) => tab.textContent === selected);
    const next = tabs[(index + step + tabs.length) % tabs.length];
    select(next.textContent);
    next.focus();
  });
  byId('copy').replaceChildren(copyButton(() => byId('snippet').textContent));
  key.addEventListener('input', showSnippet);
  showSnippet();
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
async function addNetwork(wallet, provider, { name, chainId, currency, explorer }, { url }, key) {
  const message = byId('wallet-message');
  if (key.value.trim() === '') {
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
