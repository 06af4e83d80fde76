'use strict';

/** What to write into a program, by its name. */
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
    // Somebody typed a percent sign.
    return text;
  }
}

/** Shows how to use a network at a base URL. The key stays in this page until a wallet or a program is given it. */
function connect(network, baseUrl, givenKey) {
  const key = byId('key');
  key.value = decoded(givenKey);
  let chosen = 'curl';
  const facts = () => {
    const shown = encodeURIComponent(key.value.trim()) || '<your key>';
    return { ...network, url: `${baseUrl}/v3/${shown}`, socketUrl: `${baseUrl.replace(/^http/, 'ws')}/ws/v3/${shown}` };
  };
  const showSnippet = () => {
    byId('snippet').textContent = snippets[chosen](facts());
    for (const tab of byId('tabs').children) {
      tab.setAttribute('aria-selected', String(tab.textContent === chosen));
      tab.tabIndex = tab.textContent === chosen ? 0 : -1;
    }
  };
  const choose = (name) => {
    chosen = name;
    showSnippet();
  };
  const tabs = Object.keys(snippets).map((name) =>
    element('button', { type: 'button', role: 'tab', 'aria-controls': 'snippet', click: () => choose(name) }, name),
  );
  byId('tabs').replaceChildren(...tabs);
  byId('tabs').addEventListener('keydown', ({ key: pressed }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[pressed];
    if (step === undefined) return;
    const at = tabs.findIndex((tab) => tab.textContent === chosen);
    const next = tabs[(at + step + tabs.length) % tabs.length];
    choose(next.textContent);
    next.focus();
  });
  byId('copy').replaceChildren(copyButton(() => byId('snippet').textContent));
  key.addEventListener('input', showSnippet);
  showSnippet();
  offerWallets(network, facts, key);
  byId('connect').hidden = false;
}

/** A button for each wallet that announces itself (EIP-6963), or for the one that is simply there (EIP-1193). */
function offerWallets(network, facts, key) {
  const known = new Set();
  const wallets = byId('wallets');
  const none = element('span', { class: 'quiet' }, 'No wallet is to be found in this browser.');
  const offer = (id, name, icon, provider) => {
    if (known.has(id)) return;
    known.add(id);
    none.remove();
    const image = icon?.startsWith('data:image/') === true ? element('img', { src: icon, alt: '' }) : undefined;
    const click = () => addTo(name, provider, network, facts(), key);
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

/** EIP-3085. */
async function addTo(wallet, provider, { name, chainId, currency, explorer }, { url }, key) {
  const answer = byId('wallet-answer');
  if (key.value.trim() === '') {
    answer.textContent = 'Type your key first: the wallet is given the address with the key in it.';
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
    answer.textContent = `${wallet} has it.`;
  } catch (error) {
    answer.textContent = `${wallet} did not take it: ${error.message ?? 'it does not say why'}`;
  }
}
