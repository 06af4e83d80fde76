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

/** Code for a key with a secret, the password of Basic authentication. Other clients cannot send one. */
const secretSnippets = {
  curl: ({ url, secret }) => snippets.curl({ url }).replace('curl -sS', `curl -sS -u ':${secret}'`),
  ethers: ({ url, chainId, secret }) =>
    `import { FetchRequest, JsonRpcProvider } from 'ethers';\n\nconst request = new FetchRequest('${url}');\nrequest.setHeader('authorization', 'Basic ' + btoa(':${secret}'));\nconst provider = new JsonRpcProvider(request, ${chainId}, { staticNetwork: true });\nconsole.log(await provider.getBlockNumber());`,
  viem: (facts) =>
    snippets
      .viem(facts)
      .replace(
        'http() }',
        `http(undefined, {\n  fetchOptions: { headers: { authorization: 'Basic ' + btoa(':${facts.secret}') } },\n}) }`,
      ),
};
