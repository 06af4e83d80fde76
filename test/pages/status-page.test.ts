import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCurlLine } from '../e2e/curl.ts';
import { startChromium, type Chromium, type OpenOptions, type Tab } from '../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { contrasts } from './contrasts.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { walletExtension } from '../support/wallet-extension.ts';

let browser: Chromium;
let node: FakeNode;
let gateway: TestGateway;

beforeAll(async () => {
  node = await startFakeNode({ chainId: 10, responses: { eth_blockNumber: '0x10' } });
  const ten = network(10, [node.url], { name: 'OP Mainnet' });
  [browser, gateway] = await Promise.all([
    startChromium(),
    startGateway({ ten, other: network(5, [node.url]), open: network(5, [node.url], { public: { rate: 10 } }) }),
  ]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await node.close();
});

async function open(path: string, options: OpenOptions = {}): Promise<Tab> {
  const tab = await browser.open(gateway.address + path, options);
  await tab.waitFor(`document.querySelector('#networks table') !== null`);
  return tab;
}
const textOf = (tab: Tab, selector: string): Promise<string> =>
  tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
const type = (tab: Tab, key: string): Promise<unknown> =>
  tab.evaluate(`key.value = ${JSON.stringify(key)}; key.dispatchEvent(new Event('input')); 1`);

describe('the status page', () => {
  it('shows the state of upstreams, and updates it without a reload', async () => {
    await gateway.call('ten', 'eth_blockNumber');
    const tab = await open('/');
    await tab.evaluate('window.isTheSame = true');
    expect(await textOf(tab, '#summary')).toBe('3 networks, 3 upstreams, none failing');
    await tab.waitFor(`document.querySelector('#networks [data-network=ten]').innerText.match(/\\b16\\b/) !== null`);
    await node.refuse();
    await gateway.call('ten', 'eth_blockNumber');
    await tab.waitFor(`document.querySelector('#networks').innerText.includes('▲ down')`);
    await node.listen();
    expect(await tab.evaluate('isTheSame')).toBe(true);
    expect(tab.errors).toEqual([]);
  });

  it('shows why an upstream is skipped', async () => {
    await gateway.call('other', 'eth_blockNumber');
    const tab = await open('/other');
    await tab.waitFor(`document.querySelector('#networks').innerText.includes('skipped: other-chain')`);
    expect(tab.errors).toEqual([]);
  });

  it('shows which method an upstream does not support, and for how long', async () => {
    expect((await gateway.call('ten', 'eth_gasPrice')).error?.code).toBe(-32_601);
    const tab = await open('/ten');
    await tab.waitFor(`/eth_gasPrice: unsupported, for 10 min/.test(document.querySelector('#networks').innerText)`);
    expect(tab.errors).toEqual([]);
  });

  it('shows that network files are invalid, the positions of diagnostics, and since when the active ones are used', async () => {
    const shown = `!document.querySelector('#configuration').hidden`;
    const before = await open('/');
    expect(await before.evaluate(shown)).toBe(false);
    gateway.save({ more: 'name: More\nchainId: x\nupstreams: []\n' });
    await gateway.gateway.reload();
    // Polls faster than the page does.
    await before.waitFor(`(window.poll ??= setInterval(refresh, 100), ${shown})`);
    expect(await textOf(before, '#rejection')).toMatch(/are invalid\. The configuration of .*\d.* is active\.$/);
    expect(await textOf(before, '#diagnostics')).toMatch(/more\.yaml:2:10\s+more\.yaml:3:12/);
    gateway.save({ more: undefined });
    await gateway.gateway.reload();
    await before.waitFor(`document.querySelector('#configuration').hidden`);
    expect(before.errors).toEqual([]);
  });

  it('shows nothing as up once the gateway does not respond', async () => {
    const own = await startGateway({ ten: network(10, [node.url]) });
    await own.call('ten', 'eth_blockNumber');
    for (const path of ['/', '/ten']) {
      const tab = await browser.open(own.address + path);
      await tab.waitFor(`document.querySelector('#networks .good') !== null`);
      await tab.evaluate(`window.fetch = () => Promise.reject(new Error('lost')); refresh()`);
      await tab.waitFor(`document.querySelector('#networks').innerText.includes('? unknown')`);
      expect(await tab.evaluate(`document.querySelector('.good') === null`)).toBe(true);
      expect(await textOf(tab, '#summary')).toMatch(/^▲ The gateway does not respond. It last responded at /);
    }
    await own.stop();
  });

  it('shows no latency and no lag of an upstream that fails', async () => {
    const dead = await startFakeNode({ chainId: 10 });
    const own = await startGateway({ ten: network(10, [dead.url]) });
    await own.call('ten', 'eth_blockNumber');
    await dead.refuse();
    await own.call('ten', 'eth_blockNumber');
    const tab = await browser.open(`${own.address}/ten`);
    await tab.waitFor(`document.querySelector('#networks').innerText.includes('▲ failing')`);
    const cells = await tab.evaluate<string[]>(
      `[...document.querySelectorAll('#networks tbody tr')[0].cells].map(({ innerText }) => innerText)`,
    );
    expect([cells[3], cells[4]]).toEqual(['–', '–']);
    await own.stop();
    await dead.close();
  });

  it('says that the history is of one gateway while Redis is unavailable', async () => {
    const own = await startGateway({ ten: network(10, [node.url]) }, { REDIS_URL: 'redis://127.0.0.1:1' });
    const tab = await browser.open(`${own.address}/ten`);
    await tab.waitFor(`document.querySelector('#over-time-error').innerText !== ''`);
    expect(await textOf(tab, '#over-time-error')).toBe(
      'Redis is unavailable: this is the history of one gateway since its start.',
    );
    expect(tab.errors).toEqual([]);
    await own.stop();
  });

  it('shows the history of a network for 1 h to 90 days, by a library that it contains', async () => {
    const tab = await open('/ten');
    await tab.waitFor(`document.querySelectorAll('#plots canvas').length === 7`);
    for (const range of ['24h', '7d', '30d', '90d', '1h']) {
      await tab.evaluate(`document.querySelector('#ranges [value="${range}"]').click()`);
      await tab.waitFor(`document.querySelector('#ranges [aria-pressed="true"]').value === '${range}'`);
      await tab.waitFor(
        `performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/ten/history.json?range=${range}'))`,
      );
    }
    expect(await textOf(tab, '#failures')).toMatch(
      /Credentials rejected\s+Wrong chain\s+Unsupported\s+Invalid\s+Uptime\s+node-0[\s\S]*Polls and probes .* do not count/,
    );
    const invalid = await fetch(`${gateway.address}/ten/history.json?range=2h`);
    expect([invalid.status, await invalid.json()]).toEqual([
      400,
      { error: { field: 'range', message: 'range: expected 1h, 24h, 7d, 30d, 90d, at the address of a network' } },
    ]);
    expect(tab.errors).toEqual([]);
  });

  it('has the same navigation on each page, with the current page and the version', async () => {
    for (const [path, title] of [
      ['/', 'Networks'],
      ['/docs', 'Methods'],
    ] as const) {
      const tab = await browser.open(gateway.address + path);
      const text = await textOf(tab, '#console');
      expect(text).toMatch(/^Networks\s+Methods\s+Gatehouse \d+\.\d+\.\d+/);
      expect(await tab.evaluate(`document.querySelector('#console [aria-current]').innerText`)).toBe(title);
    }
  });

  it('links to the page of each network, whose methods link to their reference', async () => {
    const tab = await open('/');
    await tab.evaluate(`document.querySelector('#networks a[href="/ten"]').click()`);
    await tab.waitFor(`document.title === 'OP Mainnet · Gatehouse'`);
    const link = `document.querySelector('#methods a[href="/ten/docs#eth_call"]')`;
    expect(await tab.evaluate(`${link}.innerText`)).toBe('eth_call');
  });

  it('shows which upstreams may get which methods, and which have no schema', async () => {
    const upstreams = ['one', 'relay'].map((name) => ({ name, url: 'http://127.0.0.1:1' }));
    const route = { eth_sendRawTransaction: ['relay'] };
    gateway.save({ wild: { name: 'Wild', chainId: 9, methods: ['eth', 'debug_*'], upstreams, route } });
    await gateway.gateway.reload();
    const tab = await open('/wild');
    const rows = await tab.evaluate<string[]>(
      `[...document.querySelectorAll('#methods tbody tr')].map(({ cells }) => [...cells].map(({ innerText }) => innerText.replaceAll('\\n', ', ')).join(' | '))`,
    );
    expect(rows).toHaveLength(4);
    expect(rows).toContain('eth_sendRawTransaction, eth_sendRawTransactionSync | relay | ');
    expect(rows).toContain('debug_* | one, relay | Without schema: not checked or cached, sent once.');
    expect(rows).toContainEqual(expect.stringMatching(/^eth_chainId, .* \| Gatehouse itself \| $/));

    expect(tab.errors).toEqual([]);
    gateway.save({ wild: undefined });
    await gateway.gateway.reload();
  });

  it('shows the address with the entered key in every snippet, and does not send it', async () => {
    const tab = await open('/ten');
    expect(await textOf(tab, '#snippet')).toContain(`curl -sS ${gateway.address}/ten/v3/<your key>`);
    await type(tab, 'my-key');
    const names = await tab.evaluate<string[]>(`[...tabs.children].map((tab) => tab.innerText)`);
    expect(names).toEqual(['curl', 'ethers', 'viem', 'wagmi', 'web3.js', 'cast', 'WebSocket', 'MetaMask']);
    for (const [index, name] of names.entries()) {
      await tab.evaluate(`tabs.children[${index}].click()`);
      const url =
        name === 'WebSocket'
          ? `${gateway.address.replace('http', 'ws')}/ten/ws/v3/my-key`
          : `${gateway.address}/ten/v3/my-key`;
      expect(await textOf(tab, '#snippet')).toContain(url);
    }
    const sent = await tab.evaluate<string[]>(`performance.getEntriesByType('resource').map(({ name }) => name)`);
    const [at, page] = [`${gateway.address}/ten`, `${gateway.address}/ten/`];
    expect(new Set(sent)).toEqual(new Set([page, `${at}/history.json?range=1h`]));
    expect(await tab.evaluate(`localStorage.length + sessionStorage.length`)).toBe(0);
  });

  it('shows a curl command that gets a result', async () => {
    const tab = await open('/ten');
    await type(tab, gateway.key);
    expect(await runCurlLine(await textOf(tab, '#snippet'))).toMatchObject({ id: 1, result: '0x10' });
  });

  it('adds the network to a wallet that announces itself, once a key is entered', async () => {
    const tab = await open('/ten', { before: walletExtension });
    await tab.waitFor(`document.querySelector('#wallets button') !== null`);
    expect(await textOf(tab, '#wallets')).toBe('Add to Fox');
    await tab.evaluate(`document.querySelector('#wallets button').click()`);
    expect(await textOf(tab, '#wallet-message')).toMatch(/^Enter your key first/);
    await type(tab, 'my-key');
    await tab.evaluate(`document.querySelector('#wallets button').click()`);
    await tab.waitFor(`document.querySelector('#wallet-message').innerText === 'Added to Fox.'`);
    expect(await tab.evaluate('walletRequests')).toEqual([
      {
        method: 'wallet_addEthereumChain',
        params: [
          {
            chainId: '0xa',
            chainName: 'OP Mainnet',
            nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
            rpcUrls: [`${gateway.address}/ten/v3/my-key`],
            blockExplorerUrls: ['https://optimistic.etherscan.io'],
          },
        ],
      },
    ]);
    await tab.evaluate(`window.walletRejects = true; document.querySelector('#wallets button').click()`);
    await tab.waitFor(`document.querySelector('#wallet-message').innerText === 'Fox did not add the network: no'`);
    expect(tab.errors).toEqual([]);
  });

  it('offers the address without a key of a network with public', async () => {
    const tab = await open('/open', { before: walletExtension });
    await tab.waitFor(`document.querySelector('#wallets button') !== null`);
    expect(await textOf(tab, '#public')).toBe('Without a key, 10 units/s for each address.');
    expect(await textOf(tab, '#networks')).toContain('without a key: 10 units/s for each address');
    expect(await runCurlLine(await textOf(tab, '#snippet'))).toMatchObject({ id: 1 });
    await tab.evaluate(`document.querySelector('#wallets button').click()`);
    await tab.waitFor(`document.querySelector('#wallet-message').innerText === 'Added to Fox.'`);
    expect(await tab.evaluate('walletRequests[0].params[0].rpcUrls')).toEqual([`${gateway.address}/open`]);
    expect(tab.errors).toEqual([]);
  });

  it('explains an RPC address that is opened in a browser, and fills in its key', async () => {
    const tab = await open(`/ten/v3/${gateway.key}`);
    expect(await textOf(tab, '#explanation')).toContain('This is a JSON-RPC address');
    expect(await tab.evaluate('key.value')).toBe(gateway.key);
    const plain = await open('/ten');
    expect(await plain.evaluate(`document.querySelector('#explanation').hidden`)).toBe(true);
  });

  it.each([
    ['light', { colours: 'light' }],
    ['dark', { colours: 'dark' }],
    ['on a phone', { width: 360, height: 740 }],
  ] as const)('%s: fits the screen, with enough contrast', async (_, options) => {
    for (const path of ['/', '/ten']) {
      const tab = await open(path, options);
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(
        'width' in options ? 360 : 1280,
      );
      expect(await tab.evaluate(contrasts)).toEqual([]);
    }
  });
});
