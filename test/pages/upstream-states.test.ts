import { afterAll, beforeAll, expect, it } from 'vitest';
import { Workplace } from '../e2e/gateway-process.ts';
import { slow, type Behaviour } from '../support/behaviours.ts';
import { startChromium, type Chromium, type Tab } from '../support/chromium.ts';
import { eventually } from '../support/eventually.ts';
import { rpcError, startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { adminToken, fill } from './keys-gateway.ts';

// One network for each fault: what is shown of its upstreams is the same on every page, and in every response.
const account = `0x${'ab'.repeat(20)}`;
const nodes: FakeNode[] = [];
let browser: Chromium;
let gateway: TestGateway;
let ops: string;

interface Expected {
  readonly state: string;
  readonly label: string;
  /** Reason of the trouble; undefined: there is none. */
  readonly reason?: RegExp;
  /** State of the other two upstreams; `up` by default. */
  readonly others?: string;
  /** Kind of the event; none by default. */
  readonly event?: 'upstream' | 'audit';
  readonly up: number;
}

/** State of the first of three upstreams, by network. */
const expected: Readonly<Record<string, Expected>> = {
  late: {
    ...{ state: 'slow', label: '◆ slow', reason: /^slow: [\d,]+ ms, the fastest upstream [\d,]+ ms$/ },
    ...{ event: 'upstream', up: 3 },
  },
  lagging: { state: 'behind', label: '◆ behind', reason: /^240 blocks behind$/, event: 'upstream', up: 3 },
  mixed: {
    state: 'other-chain',
    label: '▲ wrong chain',
    reason: /^its chain id is 6, not 5$/,
    event: 'upstream',
    up: 2,
  },
  dead: { state: 'failing', label: '▲ failing', reason: /^connection refused$/, event: 'upstream', up: 2 },
  down: {
    ...{ state: 'failing', label: '▲ failing', reason: /^connection refused$/, others: 'failing' },
    ...{ event: 'upstream', up: 0 },
  },
  limited: { state: 'paused', label: '◆ paused', reason: /^its rate limit is used up$/, event: 'upstream', up: 2 },
  differing: {
    ...{ state: 'differs', label: '◆ differs', reason: /^audits found other results, last now$/ },
    ...{ event: 'audit', up: 3 },
  },
  drained: { state: 'drained', label: '◌ drained', reason: /^an operator has drained it$/, up: 2 },
  fresh: { state: 'unused', label: '○ unused', others: 'unused', up: 3 },
  marked: { state: 'up', label: '● up', up: 3 },
};

/** Rejects every request, and requests a pause of ten minutes. */
const rejects: Behaviour = ({ id, response }) => {
  response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '600' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id, error: { code: 429, message: 'too many requests' } }));
};

async function start(block: string, chainId = 5): Promise<FakeNode> {
  const node = await startFakeNode({
    chainId,
    responses: {
      ...{ eth_getCode: '0x', eth_getBalance: '0x1', eth_gasPrice: '0x1', eth_call: '0x01' },
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
  const [limited, differing, marked] = [await start('0x100'), await start('0x100'), await start('0x100')];
  for (const method of ['eth_chainId', 'eth_getBlockByNumber', undefined]) limited.always(rejects, method);
  differing.response('eth_call', '0x02');
  marked.response('eth_gasPrice', rpcError(-32_601, 'the method eth_gasPrice does not exist/is not available'));
  late.always(slow(1_500), 'eth_getCode');
  await dead.refuse();
  const file = (first: FakeNode, more: object = {}): object =>
    network(5, [first.url, good.url, `${good.url}/other`], {
      failsafe: { hedgeAfterMs: 'off' },
      cache: 'off',
      ...more,
    });
  const networks = {
    late: file(late, { route: { eth_getCode: ['node-0'], eth_getBalance: ['node-1'] } }),
    lagging: file(lagging),
    mixed: file(other),
    dead: file(dead),
    down: network(5, [dead.url, `${dead.url}/one`, `${dead.url}/other`], {
      failsafe: { hedgeAfterMs: 'off' },
      cache: 'off',
    }),
    limited: file(limited),
    // Two groups agree against the first one.
    differing: file(differing, {
      verify: { agree: { eth_call: 2 } },
      upstreams: [differing.url, good.url, `${good.url}/other`].map((url, index) => ({
        ...{ name: `node-${index}`, url, batch: false, group: `group ${index}` },
      })),
    }),
    drained: file(good),
    fresh: file(good),
    marked: file(marked),
  };
  gateway = await startGateway(networks, { OPS_PORT: '0', ADMIN_TOKEN: adminToken, CACHE_MAX_BYTES: '0' });
  ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  const calls = ['eth_getCode', 'eth_getBalance'].flatMap((method) =>
    Array.from({ length: 12 }, (_, index) => gateway.call('late', method, [account, `0x${(index + 1).toString(16)}`])),
  );
  await Promise.all(calls);
  for (const slug of Object.keys(networks)) if (slug !== 'fresh') await gateway.call(slug, 'eth_gasPrice');
  await drain('drained', 'node-0');
  // Latencies are compared once a second.
  await eventually(async () => Object.keys((await readiness())['late']?.degraded ?? {}).length > 0);
  // Heads are polled while the network is used.
  await eventually(async () => {
    await gateway.call('lagging', 'eth_gasPrice');
    await gateway.call('differing', 'eth_call', [{ to: account }, 'latest']);
    const { lagging, differing: found } = await readiness();
    return [lagging, found].every((one) => Object.keys(one?.degraded ?? {}).length > 0);
  });
  // Until all three have failed.
  await eventually(async () => {
    await gateway.call('down', 'eth_gasPrice');
    return (await readiness())['down']?.up === 0;
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
  readonly isWorking?: boolean;
  readonly forS?: number;
  readonly note?: string;
}

async function drain(slug: string, upstream: string): Promise<void> {
  const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json' };
  const url = `${ops}/admin/networks/${slug}/upstreams/${upstream}/drain`;
  expect((await fetch(url, { method: 'POST', headers, body: '{}' })).status).toBe(200);
}

const json = async (url: string, headers: Record<string, string> = {}): Promise<unknown> =>
  (await fetch(url, { headers: { accept: 'application/json', ...headers } })).json();

interface Ready {
  readonly up: number;
  readonly drained?: readonly string[];
  readonly failing: Readonly<Record<string, string>>;
  readonly degraded?: Readonly<Record<string, string>>;
}

async function readiness(): Promise<Readonly<Record<string, Ready>>> {
  const { ready, networks } = (await json(`${ops}/readyz`)) as { ready: boolean; networks: Record<string, Ready> };
  expect(ready).toBe(true);
  return networks;
}

const entries = Object.entries(expected);

async function shownIn(where: 'overview' | 'network' | 'admin API', slug: string): Promise<readonly Shown[]> {
  if (where === 'admin API') {
    const list = (await json(`${ops}/admin/upstreams`, { authorization: `Bearer ${adminToken}` })) as {
      upstreams: (Shown & { network: string })[];
    };
    return list.upstreams.filter((one) => one.network === slug);
  }
  const { networks } = (await json(`${gateway.address}/${where === 'network' ? slug : ''}`)) as {
    networks: { slug: string; upstreams: Shown[] }[];
  };
  return networks.find((one) => one.slug === slug)?.upstreams ?? [];
}

it.each(['overview', 'network', 'admin API'] as const)('each state and reason is in the JSON: %s', async (where) => {
  for (const [slug, { state, reason, others = 'up', up }] of entries) {
    const upstreams = await shownIn(where, slug);
    expect([slug, ...upstreams.map((one) => one.state)]).toEqual([slug, state, others, others]);
    if (reason === undefined) expect(upstreams[0]).not.toHaveProperty('reason');
    else expect(upstreams[0]?.reason).toMatch(reason);
    if (others !== 'failing') expect(upstreams[1]?.reason).toBeUndefined();
    if (where !== 'admin API')
      expect([slug, upstreams.filter(({ isWorking }) => isWorking).length]).toEqual([slug, up]);
  }
});

it('the overview has since when an upstream is drained, and what is no trouble as a note', async () => {
  const [drained] = await shownIn('overview', 'drained');
  expect(drained?.forS).toBeGreaterThanOrEqual(0);
  expect(drained?.forS).toBeLessThan(600);
  expect((await shownIn('overview', 'marked'))[0]).toMatchObject({ note: 'eth_gasPrice at other upstreams first' });
});

it('/readyz has failing upstreams, and those that work with trouble, which count as up', async () => {
  const ready = await readiness();
  for (const [slug, { state, reason, up, others }] of entries) {
    const text = expect.stringMatching(reason ?? /^$/) as string;
    const circuit = new RegExp(`^circuit \\S+ for \\d+ s: ${(reason?.source ?? '').slice(1, -1)}, \\d+ of \\d+ `);
    const names = ['node-0', ...(others === 'failing' ? ['node-1', 'node-2'] : [])];
    const failing: Record<string, unknown> = {};
    const isFailing = ['failing', 'other-chain', 'paused'].includes(state);
    if (isFailing) for (const name of names) failing[name] = expect.stringMatching(circuit);
    expect([slug, ready[slug]]).toEqual([
      slug,
      {
        ...{ upstreams: 3, up, failing },
        ...(state === 'unused' && { unused: ['node-0', 'node-1', 'node-2'] }),
        ...(state === 'drained' && { drained: ['node-0'] }),
        ...(reason !== undefined && !isFailing && state !== 'drained' && { degraded: { 'node-0': text } }),
      },
    ]);
  }
});

it('the events are the same troubles', async () => {
  type Listed = { kind: string; network: string; upstream: string; reason: string; endedAt: string | null };
  const ofUpstreams = entries.filter(([, { event }]) => event === 'upstream');
  const names = ofUpstreams.map(([slug]) => `${slug}/node-0`);
  let lasting: readonly Listed[] = [];
  await eventually(async () => {
    const headers = { authorization: `Bearer ${adminToken}` };
    const { events } = (await json(`${ops}/admin/events`, headers)) as { events: Listed[] };
    lasting = events.filter(({ endedAt }) => endedAt === null);
    return lasting.filter(({ kind }) => kind === 'upstream').length === names.length + 2;
  });
  const upstreams = lasting.filter(({ kind }) => kind === 'upstream');
  const shown = upstreams.map((one) => `${one.network}/${one.upstream}`);
  expect(shown.sort()).toEqual([...names, 'down/node-1', 'down/node-2'].sort());
  for (const one of upstreams) expect(one.reason).toMatch(expected[one.network]?.reason ?? /^$/);
  expect(lasting.filter(({ kind }) => kind === 'network')).toMatchObject([
    { network: 'down', reason: 'no upstream works' },
  ]);
});

it('`gatehouse status` shows the reasons of failing and of degraded upstreams', async () => {
  const place = new Workplace();
  const { stdout } = await place.run(['status', '--url', ops]);
  expect(stdout).toMatch(/\ndead +2 of 3 +node-0: circuit \S+ for \d+ s: connection refused/);
  expect(stdout).toMatch(/\nlagging +3 of 3 +node-0: 240 blocks behind\n/);
  expect(stdout).toMatch(/\nlate +3 of 3 +node-0: slow: [\d,]+ ms, the fastest upstream [\d,]+ ms\n/);
  expect(stdout).toMatch(/\ndown +0 of 3 +node-0: circuit \S+ for \d+ s: connection refused/);
  expect(stdout).toMatch(/\nlimited +2 of 3 +node-0: circuit \S+ for \d+ s: its rate limit is used up/);
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
  expect(await textOf(upstreams, '#summary')).toBe('30 upstreams, 9 with trouble, 1 drained');
  expect(await textOf(overview, '[data-network=marked]')).toMatch(/● up node-0: eth_gasPrice at other upstreams first/);
  expect(await textOf(overview, '[data-network=drained]')).toMatch(
    /◆ degraded node-0: an operator has drained it, for \d+ s/,
  );
  expect(await textOf(overview, '[data-network=limited]')).toMatch(/▲ partly down[\s\S]*2 of 3/);
  expect(await textOf(overview, '[data-network=down]')).toMatch(/▲ down[\s\S]*0 of 3/);
  // It is folded, because there are more than 8 networks.
  expect(await textOf(overview, '#idle-count')).toBe('1 idle network');
  for (const [slug, { state, label, reason = /^/ }] of entries) {
    const text = new RegExp(reason.source.replace(/[$^]/g, ''));
    if (slug !== 'fresh') expect(await textOf(overview, `[data-network=${slug}]`)).toMatch(text);
    const card = await browser.open(`${gateway.address}/${slug}`);
    await card.waitFor(`document.querySelector('#networks tbody tr') !== null`);
    for (const row of [await textOf(card, '#networks tbody tr'), await rowOf(upstreams, slug)]) {
      expect(row).toContain(label);
      if (state !== 'drained') expect(row).toMatch(text);
    }
    expect(card.errors).toEqual([]);
  }
  expect([...overview.errors, ...upstreams.errors]).toEqual([]);
}, 60_000);

/** The first upstream of a network on the page of upstreams. */
function rowOf(tab: Tab, slug: string): Promise<string> {
  return tab.evaluate(`document.querySelector('#list a[href="/${slug}"]').closest('tr').innerText`);
}
