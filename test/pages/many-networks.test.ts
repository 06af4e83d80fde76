import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { startChromium, type Chromium, type OpenOptions, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { contrasts } from './contrasts.ts';

const CHAIN_ID = 7;
const MAX_PAGE_BYTES = 100_000;
const MAX_STATUS_BYTES = 60_000;

let browser: Chromium;
let node: FakeNode;
let dead: FakeNode;
beforeAll(async () => {
  const start = () => startFakeNode({ chainId: CHAIN_ID, responses: { eth_gasPrice: '0x1' } });
  [browser, node, dead] = await Promise.all([startChromium(), start(), start()]);
  await dead.refuse();
}, 60_000);
afterAll(async () => {
  await browser.close();
  await Promise.all([node.close(), dead.close()]);
});

/** Networks net-000, net-001 …; of more than 2, net-001 has a dead primary, and net-002 nothing else. */
async function open(count: number): Promise<TestGateway> {
  const urls = (index: number): string[] => {
    if (count > 2 && index === 2) return [dead.url];
    return count > 2 && index === 1 ? [dead.url, node.url] : [node.url];
  };
  const networks = Array.from({ length: count }, (_, index) => {
    const slug = `net-${String(index).padStart(3, '0')}`;
    return [slug, network(CHAIN_ID, urls(index), { name: `Network ${slug}` })] as const;
  });
  const gateway = await startGateway(Object.fromEntries(networks));
  onTestFinished(() => gateway.stop());
  for (const [slug] of networks.slice(0, 3)) await gateway.call(slug, 'eth_gasPrice');
  return gateway;
}

const forms: readonly (readonly [string, OpenOptions])[] = [
  ['light', { colours: 'light' }],
  ['dark', { colours: 'dark' }],
  ['phone', { width: 360, height: 740 }],
];
const titles = (tab: Tab): Promise<string[]> =>
  tab.evaluate(`[...document.querySelectorAll('#networks tr[data-network] a')].map(({ innerText }) => innerText)`);
const filterBy = (tab: Tab, text: string): Promise<unknown> =>
  tab.evaluate(`filter.value = ${JSON.stringify(text)}; filter.dispatchEvent(new Event('input')); 1`);

describe.each([1, 20, 200])('the status page with %i networks', (count) => {
  it('fits the screen in light, in dark and on a phone, with enough contrast, in less than 100 kB', async () => {
    const gateway = await open(count);
    const html = await (await fetch(gateway.address, { headers: { accept: 'text/html' } })).text();
    expect(Buffer.byteLength(html)).toBeLessThan(MAX_PAGE_BYTES);
    for (const [, options] of forms) {
      const tab = await browser.open(`${gateway.address}/`, options);
      await tab.waitFor(`document.querySelector('#networks table') !== null`);
      const width = options.width ?? 1280;
      expect(await tab.evaluate('document.documentElement.scrollWidth <= innerWidth && innerWidth')).toBe(width);
      expect(await tab.evaluate(contrasts)).toEqual([]);
      // Many networks are a page of a few screens, because idle ones are folded.
      expect(await tab.evaluate('document.documentElement.scrollHeight')).toBeLessThan(3_000);
      expect(tab.errors).toEqual([]);
    }
  }, 60_000);
});

describe('the status page with 20 networks', () => {
  it('shows those with trouble first, with the reason, and folds idle ones', async () => {
    const gateway = await open(20);
    const tab = await browser.open(`${gateway.address}/`);
    await tab.waitFor(`document.querySelector('#networks table') !== null`);
    expect(await titles(tab)).toEqual(['net-002', 'net-001', 'net-000'].map((slug) => `Network ${slug}`));
    const row = await tab.evaluate<string>(`document.querySelector('#networks tbody tr').innerText`);
    expect(row).toMatch(/▲ down\s+node-0: connection refused, for \d+ s/);
    expect(await tab.evaluate(`document.querySelector('#idle').innerText`)).toBe('17 idle networks');
    expect(await tab.evaluate(`document.querySelector('#idle').open`)).toBe(false);
    await tab.evaluate(`document.querySelector('#idle').open = true`);
    await tab.evaluate('refresh()');
    expect(await tab.evaluate(`document.querySelector('#idle').open`)).toBe(true);
    expect(await tab.evaluate(`document.querySelector('#idle a[href="/net-019"]').innerText`)).toBe('Network net-019');
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('opens a row to the card of its network, by the keyboard, and keeps it open', async () => {
    const gateway = await open(20);
    const tab = await browser.open(`${gateway.address}/`);
    await tab.waitFor(`document.querySelector('#networks table') !== null`);
    await tab.evaluate(`document.querySelector('#toggle-net-002').focus()`);
    await tab.press('Enter');
    await tab.waitFor(
      `document.querySelector('#networks td[colspan]')?.innerText.includes('has not worked since the start')`,
    );
    expect(await tab.evaluate('document.activeElement.id')).toBe('toggle-net-002');
    await tab.evaluate('refresh()');
    expect(await tab.evaluate(`document.querySelector('#networks td[colspan]') !== null`)).toBe(true);
    await tab.press('Enter');
    expect(await tab.evaluate(`document.querySelector('#networks td[colspan]') === null`)).toBe(true);
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('is sorted by a column, in both directions', async () => {
    const gateway = await open(20);
    const tab = await browser.open(`${gateway.address}/`);
    await tab.waitFor(`document.querySelector('#networks table') !== null`);
    const sort = `document.querySelector('#networks .sort').click()`;
    await tab.evaluate(sort);
    expect(await titles(tab)).toEqual(['net-000', 'net-001', 'net-002'].map((slug) => `Network ${slug}`));
    await tab.evaluate(sort);
    expect(await titles(tab)).toEqual(['net-002', 'net-001', 'net-000'].map((slug) => `Network ${slug}`));
    expect(await tab.evaluate(`document.querySelector('#networks th').ariaSort`)).toBe('descending');
    expect(tab.errors).toEqual([]);
  }, 60_000);

  it('is filtered by network, upstream and state', async () => {
    const gateway = await open(20);
    const tab = await browser.open(`${gateway.address}/`);
    await tab.waitFor(`document.querySelector('#networks table') !== null`);
    await filterBy(tab, 'failing NET-001');
    expect(await titles(tab)).toEqual(['Network net-001']);
    expect(await tab.evaluate(`document.querySelector('#idle').hidden`)).toBe(true);
    await filterBy(tab, 'net-019');
    expect(await titles(tab)).toEqual([]);
    expect(await tab.evaluate(`document.querySelector('#idle').innerText`)).toBe('1 idle network');
    await filterBy(tab, 'nothing');
    expect(await tab.evaluate(`document.querySelector('#no-match').innerText`)).toBe('No network matches.');
    expect(tab.errors).toEqual([]);
  }, 60_000);
});

it('the status of 200 networks without traffic is small, too', async () => {
  const gateway = await open(200);
  const text = await (await fetch(gateway.address, { headers: { accept: 'application/json' } })).text();
  expect((JSON.parse(text) as { networks: unknown[] }).networks).toHaveLength(200);
  expect(Buffer.byteLength(text)).toBeLessThan(MAX_STATUS_BYTES);
});

it('a network has its calls per second, latencies and cache hits, and an upstream its availability', async () => {
  const gateway = await open(1);
  const statusOf = async () => {
    const response = await fetch(`${gateway.address}/net-000`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as {
      networks: { activity?: { perSecond: number }; upstreams: { availability?: object }[] }[];
    };
    return networks[0];
  };
  // The metrics are sampled at the end of each 30 s.
  await eventually(async () => {
    await gateway.call('net-000', 'eth_gasPrice');
    const status = await statusOf();
    return (status?.activity?.perSecond ?? 0) > 0 && status?.upstreams[0]?.availability !== undefined;
  }, 60_000);
  const status = await statusOf();
  const number = expect.any(Number) as number;
  expect(status?.activity).toEqual({
    ...{ perSecond: number, p50Ms: number, p99Ms: number, cacheHitRate: number, failedShare: 0, rejectedShare: 0 },
  });
  expect(status?.upstreams[0]?.availability).toEqual({ share: 1, overS: number });
  const tab = await browser.open(`${gateway.address}/net-000`);
  await tab.waitFor(`document.querySelector('#networks table') !== null`);
  const text = await tab.evaluate<string>(`document.querySelector('#networks').innerText`);
  expect(text).toMatch(/[\d,.]+ calls\/s\s+p50 .* ms, p99 .* ms\s+cache hits \d+ %/);
  expect(text).toContain('100 %');
}, 90_000);
