import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { packageRoot } from '../../../gateway/config/package.ts';
import { slow } from '../../support/behaviours.ts';
import { startChromium, type Chromium } from '../../support/chromium.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';

/** `npm run docs:picture` writes docs/status-page.png after ten minutes of traffic: the page shows that long. */
const isWritten = process.env['STATUS_PICTURE'] === 'write';
const TRAFFIC_MS = isWritten ? 600_000 : 500;

/** Upstreams of the networks in the picture, by name: lag in blocks, latency in ms, and whether it fails at the end. */
const ours = { lag: 0, ms: 3, fails: false };
const provider = { lag: 0, ms: 28, fails: false };
const networks = {
  'ethereum-mainnet': {
    ...{ name: 'Ethereum Mainnet', chainId: 1, height: 24_180_317, blockS: 12 },
    upstreams: { 'our-node': ours, provider: { ...provider, ms: 41 } },
  },
  base: {
    ...{ name: 'Base', chainId: 8453, height: 41_204_882, blockS: 2 },
    upstreams: { 'our-node': { ...ours, fails: true }, provider, public: { lag: 31, ms: 74, fails: false } },
  },
  'op-mainnet': {
    ...{ name: 'OP Mainnet', chainId: 10, height: 146_800_410, blockS: 2 },
    upstreams: { 'our-node': ours, provider: { ...provider, ms: 35 } },
  },
};

const nodes: FakeNode[] = [];
const failing: FakeNode[] = [];
let browser: Chromium;
let gateway: TestGateway;

beforeAll(async () => {
  const files: Record<string, object> = {};
  for (const [slug, { name, chainId, height, blockS, upstreams }] of Object.entries(networks)) {
    const entries: object[] = [];
    for (const [upstream, { lag, ms, fails }] of Object.entries(upstreams)) {
      const node = await startFakeNode({ chainId, responses: chainAt(height, blockS, lag) });
      node.always((exchange) => slow(ms * (0.7 + 0.6 * Math.random()))(exchange));
      nodes.push(node);
      if (fails) failing.push(node);
      entries.push({ name: upstream, url: node.url });
    }
    files[slug] = { name, chainId, upstreams: entries };
  }
  [browser, gateway] = await Promise.all([startChromium(), startGateway(files)]);
}, 60_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

it('the status page shows several networks at once', { timeout: TRAFFIC_MS + 30_000 }, async () => {
  await traffic(TRAFFIC_MS * 0.9);
  await Promise.all(failing.map((node) => node.refuse()));
  await traffic(TRAFFIC_MS * 0.1);
  const tab = await browser.open(`${gateway.address}/`, { width: 900, height: 560 });
  const text = `document.querySelector('#networks').innerText`;
  for (const { name } of Object.values(networks)) await tab.waitFor(`${text}.includes(${JSON.stringify(name)})`);
  await tab.waitFor(`/our-node\\s+▲ failing/.test(${text})`);
  expect(await tab.evaluate(`document.querySelector('#summary').innerText`)).toBe('3 networks, 7 upstreams, 1 failing');
  expect(tab.errors).toEqual([]);
  const picture = await tab.screenshot();
  expect(picture.length).toBeLessThan(150_000);
  if (isWritten) writeFileSync(join(packageRoot, 'docs/status-page.png'), picture);
});

/** Balance reads to every network; each differs, so that none is served from the cache. */
async function traffic(ms: number): Promise<void> {
  const end = performance.now() + ms;
  for (let index = 0; performance.now() < end; index++) {
    const address = `0x${index.toString(16).padStart(40, '0')}`;
    const calls = Object.keys(networks).map((slug) => gateway.call(slug, 'eth_getBalance', [address, 'latest']));
    for (const response of await Promise.all(calls)) expect(response).toHaveProperty('result');
    await scenarioPause(isWritten ? 100 + 150 * Math.random() : 20);
  }
}

/** A chain that grows by a block each `blockS` seconds, seen `lag` blocks late. */
function chainAt(height: number, blockS: number, lag: number): Record<string, unknown> {
  const start = Math.floor(Date.now() / 1000);
  const number = (): number => height + Math.floor((Date.now() / 1000 - start) / blockS) - lag;
  const hex = (value: number): string => `0x${value.toString(16)}`;
  return {
    eth_getBlockByNumber: () => ({
      number: hex(number()),
      gasLimit: '0x1c9c380',
      timestamp: hex(start + (number() - height) * blockS),
      transactions: [],
    }),
    eth_getBalance: '0xde0b6b3a7640000',
  };
}
