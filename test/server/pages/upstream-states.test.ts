import { afterAll, beforeAll, expect, it } from 'vitest';
import { Workplace } from '../../e2e/gateway-process.ts';
import { slow } from '../../support/behaviours.ts';
import { startChromium, type Chromium, type Tab } from '../../support/chromium.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { adminToken, fill } from './keys-gateway.ts';

// One network for each fault: what is shown of its upstreams is the same on every page, and in every response.
const account = `0x${'ab'.repeat(20)}`;
const nodes: FakeNode[] = [];
let browser: Chromium;
let gateway: TestGateway;
let ops: string;

/** States and reasons by upstream. */
const expected: Readonly<Record<string, readonly [network: string, state: string, label: string, reason: RegExp]>> = {
  'late/node-0': ['late', 'slow', '◆ slow', /^slow: \d+ ms, the fastest upstream \d+ ms$/],
  'lagging/node-0': ['lagging', 'behind', '◆ behind', /^240 blocks behind$/],
  'mixed/node-0': ['mixed', 'other-chain', '▲ wrong chain', /^its chain id is 6, not 5$/],
  'dead/node-0': ['dead', 'failing', '▲ failing', /^connection refused$/],
};

async function start(block: string, chainId = 5): Promise<FakeNode> {
  const node = await startFakeNode({
    chainId,
    responses: {
      ...{ eth_getCode: '0x', eth_getBalance: '0x1', eth_gasPrice: '0x1' },
      eth_getBlockByNumber: { number: block, gasLimit: '0x1c9c380', timestamp: '0x65000000', transactions: [] },
    },
  });
  nodes.push(node);
  return node;
}

beforeAll(async () => {
  browser = await startChromium();
  const good = await start('0x100');
  const [late, lagging] = [await start('0x100'), await start('0x10')];
  const [other, dead] = [await start('0x100', 6), await start('0x100')];
  late.always(slow(1_500), 'eth_getCode');
  await dead.refuse();
  const file = (first: FakeNode, more: object = {}): object =>
    network(5, [first.url, good.url, `${good.url}/other`], { hedge: 'off', cache: 'off', ...more });
  const networks = {
    late: file(late, { route: { eth_getCode: ['node-0'], eth_getBalance: ['node-1'] } }),
    lagging: file(lagging),
    mixed: file(other),
    dead: file(dead),
  };
  gateway = await startGateway(networks, { OPS_PORT: '0', ADMIN_TOKEN: adminToken, CACHE_MAX_BYTES: '0' });
  ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  const calls = ['eth_getCode', 'eth_getBalance'].flatMap((method) =>
    Array.from({ length: 12 }, (_, index) => gateway.call('late', method, [account, `0x${(index + 1).toString(16)}`])),
  );
  await Promise.all(calls);
  for (const slug of ['lagging', 'mixed', 'dead']) await gateway.call(slug, 'eth_gasPrice');
  // Latencies are compared once a second.
  await eventually(async () => Object.keys((await readiness())['late']?.degraded ?? {}).length > 0);
  // Heads are polled while the network is used.
  await eventually(async () => {
    await gateway.call('lagging', 'eth_gasPrice');
    return Object.keys((await readiness())['lagging']?.degraded ?? {}).length > 0;
  });
}, 90_000);
afterAll(async () => {
  await browser.close();
  await gateway.stop();
  await Promise.all(nodes.map((node) => node.close()));
});

interface Shown {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
}

const json = async (url: string, headers: Record<string, string> = {}): Promise<unknown> =>
  (await fetch(url, { headers: { accept: 'application/json', ...headers } })).json();

interface Ready {
  readonly up: number;
  readonly failing: Readonly<Record<string, string>>;
  readonly degraded?: Readonly<Record<string, string>>;
}

async function readiness(): Promise<Readonly<Record<string, Ready>>> {
  const { ready, networks } = (await json(`${ops}/readyz`)) as { ready: boolean; networks: Record<string, Ready> };
  expect(ready).toBe(true);
  return networks;
}

const entries = Object.entries(expected);

it.each(['overview', 'network', 'admin API'])('each state and reason is in the JSON: %s', async (where) => {
  for (const [, [slug, state, , reason]] of entries) {
    let upstreams: readonly Shown[] | undefined;
    if (where === 'admin API') {
      const list = (await json(`${ops}/admin/upstreams`, { authorization: `Bearer ${adminToken}` })) as {
        upstreams: (Shown & { network: string; upstream: string })[];
      };
      upstreams = list.upstreams.filter((one) => one.network === slug);
    } else {
      const { networks } = (await json(`${gateway.address}/${where === 'network' ? slug : ''}`)) as {
        networks: { slug: string; upstreams: Shown[] }[];
      };
      upstreams = networks.find((one) => one.slug === slug)?.upstreams;
    }
    expect(upstreams?.map((one) => one.state)).toEqual([state, 'up', 'up']);
    expect(upstreams?.[0]?.reason).toMatch(reason);
    expect(upstreams?.[1]?.reason).toBeUndefined();
  }
});

it('/readyz has failing upstreams, and those that work with trouble, which count as up', async () => {
  const { late, lagging, mixed, dead } = await readiness();
  const reasonOf = (upstream: string): unknown => expect.stringMatching(expected[upstream]?.[3] ?? /^$/);
  expect(late).toEqual({ upstreams: 3, up: 3, failing: {}, degraded: { 'node-0': reasonOf('late/node-0') } });
  expect(lagging).toEqual({ upstreams: 3, up: 3, failing: {}, degraded: { 'node-0': reasonOf('lagging/node-0') } });
  for (const [one, reason] of [
    [mixed, 'its chain id is 6, not 5'],
    [dead, 'connection refused'],
  ] as const) {
    const text = expect.stringMatching(new RegExp(`^circuit \\S+ for \\d+ s: ${reason}, \\d+ of \\d+ `)) as string;
    expect(one).toEqual({ upstreams: 3, up: 2, failing: { 'node-0': text } });
  }
});

it('the events are the same troubles', async () => {
  type Listed = { network: string; upstream: string; reason: string; endedAt: string | null };
  let lasting: readonly Listed[] = [];
  await eventually(async () => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const { events } = (await json(`${ops}/admin/events?kind=upstream`, headers)) as { events: Listed[] };
    lasting = events.filter(({ endedAt }) => endedAt === null);
    return lasting.length === entries.length;
  });
  expect(lasting.map((one) => `${one.network}/${one.upstream}`).sort()).toEqual(Object.keys(expected).sort());
  for (const one of lasting) expect(one.reason).toMatch(expected[`${one.network}/${one.upstream}`]?.[3] ?? /^$/);
});

it('`gatehouse status` shows the reasons of failing and of degraded upstreams', async () => {
  const place = new Workplace();
  const { stdout } = await place.run(['status', '--url', ops]);
  expect(stdout).toMatch(/\ndead +2 of 3 +node-0: circuit \S+ for \d+ s: connection refused/);
  expect(stdout).toMatch(/\nlagging +3 of 3 +node-0: 240 blocks behind\n/);
  expect(stdout).toMatch(/\nlate +3 of 3 +node-0: slow: \d+ ms, the fastest upstream \d+ ms\n/);
  expect(stdout).toMatch(/\nmixed +2 of 3 +node-0: circuit \S+ for \d+ s: its chain id is 6, not 5, /);
  const asJson = await place.run(['status', '--url', ops, '--json']);
  expect(JSON.parse(asJson.stdout)).toMatchObject({
    networks: { lagging: { degraded: expect.any(Object) as object } },
  });
  await place.close();
}, 60_000);

it('the overview, the card of a network and the page of upstreams show them', async () => {
  const textOf = (tab: Tab, selector: string): Promise<string> =>
    tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
  const overview = await browser.open(`${gateway.address}/`);
  await overview.waitFor(`document.querySelector('[data-network=late]') !== null`);
  const upstreams = await browser.open(`${ops}/upstreams`);
  await fill(upstreams, 'token', adminToken);
  await upstreams.press('Enter');
  await upstreams.waitFor(`document.querySelector('#list tbody tr') !== null`);
  expect(await textOf(upstreams, '#summary')).toBe('12 upstreams, 4 with trouble, none drained');
  for (const [, [slug, , label, reason]] of entries) {
    const text = new RegExp(reason.source.replace(/[$^]/g, ''));
    expect(await textOf(overview, `[data-network=${slug}]`)).toMatch(text);
    const card = await browser.open(`${gateway.address}/${slug}`);
    await card.waitFor(`document.querySelector('#networks tbody tr') !== null`);
    for (const row of [await textOf(card, '#networks tbody tr'), await rowOf(upstreams, slug)]) {
      expect(row).toContain(label);
      expect(row).toMatch(text);
    }
    expect(card.errors).toEqual([]);
  }
  expect([...overview.errors, ...upstreams.errors]).toEqual([]);
}, 60_000);

/** The first upstream of a network on the page of upstreams. */
function rowOf(tab: Tab, slug: string): Promise<string> {
  return tab.evaluate(`document.querySelector('#list a[href="/${slug}"]').closest('tr').innerText`);
}
