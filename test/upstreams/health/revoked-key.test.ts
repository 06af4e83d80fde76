import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';
import { MachineSlots } from '../../../gateway/workers/machine-slots.ts';
import { readMetrics } from '../../metrics/read-metrics.ts';
import { shiftClock, storageParams, withNodes, word } from '../../routing/with-nodes.ts';
import { asUsual, type Behaviour } from '../../support/behaviours.ts';
import { eventually } from '../../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../../support/fake-node.ts';
import { network, startGateway, type TestGateway } from '../../support/gateway.ts';
import { inLongRun } from '../../support/long-run.ts';
import { LinkedWorkers } from '../../workers/linked-workers.ts';
import { openCaller, socketUrl } from '../../server/websocket/caller.ts';

const CHAIN_ID = 7;
const adminToken = 'a'.repeat(43);
/** The longest time between two polls of an upstream that fails. */
const BACKOFF_MS = 15_000;

/** A response of a provider, as a function of the id. */
interface Form {
  readonly status: number;
  readonly type?: string;
  readonly body: (id: unknown) => unknown;
}

const rpc = (id: unknown, error: unknown) => ({ jsonrpc: '2.0', id, error });

/** What providers, cloud gateways and proxies write beside the status. */
const bodies: Readonly<Record<string, Omit<Form, 'status'>>> = {
  'JSON-RPC': { body: (id) => rpc(id, { code: -32_000, message: 'rejected' }) },
  'JSON-RPC without an id': { body: () => rpc(null, { code: -32_600, message: 'rejected' }) },
  'JSON-RPC with a fixed id': { body: () => rpc(1, { code: -32_600, message: 'rejected' }) },
  'an array': { body: (id) => [rpc(id, { code: -32_000, message: 'rejected' })] },
  'an error without an envelope': { body: () => ({ error: { code: -32_000, message: 'rejected' } }) },
  'an error that is a text': { body: () => ({ error: 'rejected' }) },
  'a message': { body: () => ({ message: 'rejected' }) },
  'other JSON': { body: () => ({ type: 'about:blank', title: 'rejected', detail: 'rejected' }) },
  'a JSON text': { body: () => 'rejected' },
  text: { type: 'text/plain', body: () => undefined },
  HTML: { type: 'text/html', body: () => '<html><body>rejected</body></html>' },
};

/** Errors that providers send with HTTP 200, by the failure class. */
const errors: Readonly<Record<'auth' | 'quota' | 'rate', readonly (readonly [code: number, message: string])[]>> = {
  quota: [
    [-32_600, 'Monthly capacity limit exceeded. Visit https://dashboard.alchemy.com/settings/billing to upgrade'],
    [-32_001, 'Exceeded the quota usage'],
    [-32_005, 'daily request count exceeded, request rate limited'],
    [402, 'payment needed'],
    [-32_000, 'Your trial has expired, upgrade your plan'],
    [-32_000, 'not enough credits'],
  ],
  auth: [
    [-32_600, 'Must be authenticated!'],
    [-32_000, 'Unauthorized: You must authenticate your request with an API key'],
    [-32_052, 'API key is not allowed to access blockchain'],
    [-32_000, 'invalid project id'],
  ],
  rate: [
    [-32_005, 'rate limit reached'],
    [429, 'Your app has exceeded its compute units per second capacity'],
    [-32_007, '25/second request limit reached'],
  ],
};

const failureOfStatus = { 401: 'auth', 402: 'quota', 403: 'auth', 429: 'rate' } as const;
type Failure = keyof typeof errors;

/** Forms by name: the form, and the failure class. */
const forms = new Map<string, Form & { readonly failure: Failure }>();
for (const [status, failure] of Object.entries(failureOfStatus))
  for (const [name, body] of Object.entries(bodies))
    forms.set(`${status}, ${name}`, { ...body, status: Number(status), failure });
for (const [failure, texts] of Object.entries(errors))
  for (const [code, message] of texts)
    for (const status of [200, 429])
      forms.set(`${status}, ${message}`, {
        status,
        failure: failure as Failure,
        body: (id) => rpc(id, { code, message }),
      });

const reasons: Readonly<Record<Failure, RegExp>> = {
  auth: /^(?:it rejects the credentials|HTTP 40[13] without a JSON-RPC response)$/,
  quota: /^(?:its plan is used up|HTTP 402 without a JSON-RPC response)$/,
  rate: /^(?:its rate limit is used up|HTTP 429 without a JSON-RPC response)$/,
};

const rejects =
  ({ status, type = 'application/json', body }: Form): Behaviour =>
  ({ id, response }) => {
    const value = body(id);
    const text = type === 'application/json' ? JSON.stringify(value) : typeof value === 'string' ? value : '';
    response.writeHead(status, { 'content-type': type }).end(text);
  };

function always(node: FakeNode | undefined, behaviour: Behaviour | undefined): void {
  for (const method of ['eth_chainId', 'eth_getBlockByNumber', undefined]) node?.always(behaviour, method);
}

interface Shown {
  readonly state: string | undefined;
  readonly reason: string | undefined;
  readonly readyz: string | undefined;
  readonly metric: number | undefined;
  readonly event: string | undefined;
  readonly line: string | undefined;
}

interface Ready {
  readonly networks: Readonly<Record<string, { readonly up: number }>>;
}

interface Line {
  readonly msg: string;
  readonly network?: string;
  readonly upstream?: string;
  readonly failure?: string;
}

/** One network for each form. Its first upstream gets the calls, and the second one is a standby. */
async function withNetworks(names: readonly string[], which: 0 | 1) {
  const time = shiftClock();
  const slugs = names.map((_, index) => `test-${index}`);
  const start = (index: number) =>
    startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(index + 1) } });
  const nodes = await Promise.all(slugs.map(() => Promise.all([start(0), start(1)])));
  const files = nodes.map((pair) => {
    const upstreams = pair.map(({ url }, index) => ({ name: `node-${index}`, url, priority: index, batch: false }));
    return network(CHAIN_ID, [], { upstreams, failsafe: { hedgeAfterMs: 'off' } });
  });
  const lines: Line[] = [];
  const log = pino({}, { write: (text) => void lines.push(JSON.parse(text) as Line) });
  const env = { CACHE_MAX_BYTES: '0', OPS_PORT: '0', ADMIN_TOKEN: adminToken };
  const networks = Object.fromEntries(slugs.map((slug, index) => [slug, files[index] ?? {}]));
  const gateway = await startGateway(networks, env, log);
  onTestFinished(async () => {
    await gateway.stop();
    await Promise.all(nodes.flat().map((node) => node.close()));
  });
  const ops = `http://127.0.0.1:${gateway.gateway.opsPort ?? 0}`;
  const json = async (url: string): Promise<unknown> =>
    (await fetch(url, { headers: { accept: 'application/json', authorization: `Bearer ${adminToken}` } })).json();
  const name = `node-${which}`;

  /** Calls each network. @returns the results, by form */
  const call = async (): Promise<unknown[]> =>
    Promise.all(slugs.map(async (slug) => (await gateway.call(slug, 'eth_getStorageAt', storageParams)).result));
  const polls = async (): Promise<number[]> => {
    const polled = (await readMetrics(ops)).samplesOf('gatehouse_head_polls_total');
    const own = polled.filter(({ labels }) => labels['upstream'] === name);
    return slugs.map((slug) =>
      own.filter(({ labels }) => labels['network'] === slug).reduce((sum, { value }) => sum + value, 0),
    );
  };
  return {
    nodes,
    time,
    call,
    /** Moves the time, calls each network, and waits for its next poll. @returns the results of the calls */
    poll: async (ms: number): Promise<unknown[]> => {
      const before = await polls();
      time.forward(ms);
      const results = await call();
      await eventually(async () => (await polls()).every((count, index) => count > (before[index] ?? 0)));
      return results;
    },
    /** State by form. */
    shown: async (): Promise<Map<string, Shown>> => {
      const overview = (await json(`${gateway.address}/`)) as {
        networks: { slug: string; upstreams: { name: string; state: string; reason?: string }[] }[];
      };
      const ready = (await json(`${ops}/readyz`)) as {
        networks: Record<string, { failing: Record<string, string> }>;
      };
      const { events } = (await json(`${ops}/admin/events?limit=1000`)) as {
        events: { kind: string; network: string; upstream: string; reason: string; endedAt?: string | null }[];
      };
      const { value } = await readMetrics(ops);
      return new Map(
        slugs.map((slug, index) => {
          const upstream = overview.networks
            .find((one) => one.slug === slug)
            ?.upstreams.find((one) => one.name === name);
          const isOwn = (one: { network?: string; upstream?: string }): boolean =>
            one.network === slug && one.upstream === name;
          const line = lines.findLast((one) => isOwn(one) && /^upstream (?:failed|recovered)$/.test(one.msg));
          const shown: Shown = {
            state: upstream?.state,
            reason: upstream?.reason,
            readyz: ready.networks[slug]?.failing[name],
            metric: value('gatehouse_upstream_up', { network: slug, upstream: name }),
            event: events.find((one) => one.kind === 'upstream' && isOwn(one) && one.endedAt === null)?.reason,
            line: line && [line.msg, line.failure].join(' ').trim(),
          };
          return [names[index] ?? '', shown];
        }),
      );
    },
  };
}

/** @returns `up` or `failing` if all places show it, with the line as the latest one of the log; otherwise what they show */
function summary(shown: Shown, failure: Failure, line: string | undefined): string {
  const { state, reason = '', readyz = '', metric, event = '' } = shown;
  const isUp = state === 'up' && metric === 1 && reason + readyz + event === '' && shown.line === line;
  const isNamed = reasons[failure].test(reason) && event === reason && readyz.includes(`: ${reason}, `);
  const isFailing = state === 'failing' && metric === 0 && isNamed && shown.line === `upstream failed ${failure}`;
  return isUp ? 'up' : isFailing ? 'failing' : JSON.stringify(shown);
}

describe.each([
  ['in use', 0],
  ['standby', 1],
] as const)('an upstream %s, whose key is revoked or whose plan is used up while the gateway runs', (_, which) => {
  // In the long run, both upstreams send all forms. Neighbours are the same text with different statuses.
  const names = [...forms.keys()].filter((__, index) => inLongRun(true, Math.floor(index / 2) % 2 === which));
  const atOnce = names.filter((name) => forms.get(name)?.failure !== 'rate');
  const atThird = names.filter((name) => forms.get(name)?.failure === 'rate');

  it('is shown in every form after one poll, with a rate limit after three, and no call fails; and so is its recovery', async () => {
    const all = await withNetworks(names, which);
    const failureOf = (name: string): Failure => forms.get(name)?.failure ?? 'auth';
    const summaries = async (line?: string): Promise<string[]> =>
      [...(await all.shown())].map(([name, shown]) => `${name}: ${summary(shown, failureOf(name), line)}`);
    const expectShown = async (isFailing: (name: string) => boolean, line?: string): Promise<void> => {
      const expected = names.map((name) => `${name}: ${isFailing(name) ? 'failing' : 'up'}`);
      // What is shown is made once a second. No poll is due so early.
      all.time.forward(1_000);
      await eventually(async () => (await summaries(line)).join() === expected.join(), 5_000).catch(() => undefined);
      expect(await summaries(line)).toEqual(expected);
    };
    const results = (one: number): unknown[] => names.map(() => word(one));

    expect(await all.poll(0)).toEqual(results(1));
    await expectShown(() => false);
    for (const [index, name] of names.entries()) always(all.nodes[index]?.[which], rejects(forms.get(name) as Form));
    // The calls go to the other upstream at once.
    expect(await all.poll(BACKOFF_MS)).toEqual(results(which === 0 ? 2 : 1));
    await expectShown((name) => atOnce.includes(name));
    await all.poll(BACKOFF_MS);
    await expectShown((name) => atOnce.includes(name));
    expect(await all.poll(BACKOFF_MS)).toEqual(results(which === 0 ? 2 : 1));
    await expectShown(() => true);
    expect(atThird.length).toBeGreaterThan(0);
    // It costs callers nothing from then on. After a rate limit, a call tries the upstream again in a second.
    const revoked = all.nodes.filter((__, index) => atOnce.includes(names[index] ?? ''));
    const sent = (): number[] => revoked.map((pair) => pair[which].callsOf('eth_getStorageAt').length);
    const before = sent();
    await all.call();
    expect(sent()).toEqual(before);
    for (const pair of all.nodes) always(pair[which], undefined);
    await all.poll(BACKOFF_MS);
    await expectShown(() => false, 'upstream recovered');
    expect(await all.call()).toEqual(results(1));
  });
});

describe('a standby upstream that requests a pause with Retry-After', () => {
  it('is paused after three polls, gets no request meanwhile, and stays in the series of the alert', async () => {
    const all = await withNetworks(['429'], 1);
    const standby = all.nodes[0]?.[1];
    await all.poll(0);
    always(standby, ({ id, response }) => {
      response.writeHead(429, { 'content-type': 'application/json', 'retry-after': '600' });
      response.end(JSON.stringify(rpc(id, { code: 429, message: 'too many requests' })));
    });
    for (let times = 0; times < 3; times++) await all.poll(BACKOFF_MS);
    const state = async (): Promise<unknown[]> => {
      all.time.forward(1_000);
      const { state, reason, metric } = (await all.shown()).get('429') ?? {};
      return [state, reason, metric];
    };
    expect(await state()).toEqual(['paused', 'its rate limit is used up', 0]);
    const sent = standby?.calls.length;
    for (let times = 0; times < 3; times++) await all.poll(BACKOFF_MS);
    expect(standby?.calls.length).toBe(sent);
    expect(await state()).toEqual(['paused', 'its rate limit is used up', 0]);
    always(standby, undefined);
    await all.poll(600_000);
    expect(await state()).toEqual(['up', undefined, 1]);
  });
});

describe('an upstream that rejects the credentials for one method', () => {
  it.each(['JSON-RPC', 'text'])('stays up, if no call needs the method: HTTP 403 with %s', async (name) => {
    const { gateway, nodes, request } = await withNodes(1);
    nodes[0]?.always(
      rejects({ status: 403, ...(bodies[name] as Omit<Form, 'status'>) }),
      'eth_newPendingTransactionFilter',
    );
    const caller = await openCaller(socketUrl(gateway, 'test'));
    caller.send(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'eth_subscribe', params: ['newPendingTransactions'] }));
    await eventually(() => nodes[0]?.callsOf('eth_newPendingTransactionFilter').length === 1);
    expect(await request()).toMatchObject({ result: word(1) });
    const { value } = await readMetrics(gateway.address);
    expect(value('gatehouse_upstream_up', { upstream: 'node-0' })).toBe(1);
    expect(value('gatehouse_head_polls_total', { upstream: 'node-0', outcome: 'auth' }) ?? 0).toBe(
      name === 'text' ? 1 : 0,
    );
    caller.socket.close();
  });
});

it('the workers that do not poll show a standby upstream whose key is revoked, and its recovery, as the one that polls', async () => {
  const time = shiftClock();
  const start = (result: string) => startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: result } });
  const [primary, standby] = [await start(word(1)), await start(word(2))];
  const upstreams = [primary, standby].map(({ url }, priority) => ({ name: `node-${priority}`, url, priority }));
  const files = { test: network(CHAIN_ID, [], { upstreams, failsafe: { hedgeAfterMs: 'off' } }) };
  const workers = new LinkedWorkers();
  new MachineSlots(workers.router, 2).serve();
  const gateways: TestGateway[] = [];
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.stop();
    await Promise.all([primary.close(), standby.close()]);
  });
  for (const id of [1, 2]) gateways.push(await startGateway(files, {}, undefined, workers.open(id)));
  const poll = async (): Promise<void> => {
    const polls = (): number => standby.callsOf('eth_getBlockByNumber').length;
    const before = polls();
    time.forward(BACKOFF_MS);
    await gateways[0]?.call('test', 'eth_getStorageAt', storageParams);
    await eventually(() => polls() > before);
  };
  const areReady = (up: number): Promise<void> =>
    eventually(async () => {
      const shown = gateways.map(async ({ address }) => (await (await fetch(`${address}/readyz`)).json()) as Ready);
      return (await Promise.all(shown)).every(({ networks }) => networks['test']?.up === up);
    }).then(() => undefined);
  await poll();
  await areReady(2);
  always(standby, rejects({ status: 401, ...(bodies['JSON-RPC'] as Omit<Form, 'status'>) }));
  await poll();
  await areReady(1);
  always(standby, undefined);
  await poll();
  await areReady(2);
  expect(workers.errors).toEqual([]);
});

it('a Retry-After that a call of one worker gets pauses the upstream for all workers', async () => {
  shiftClock();
  const method = 'eth_getStorageAt';
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: { [method]: word(1) } });
  const files = {
    test: network(CHAIN_ID, [], {
      upstreams: [{ name: 'node', url: node.url, batch: false }],
      failsafe: { hedgeAfterMs: 'off' },
    }),
  };
  const workers = new LinkedWorkers();
  new MachineSlots(workers.router, 2).serve();
  const gateways: TestGateway[] = [];
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.stop();
    await node.close();
  });
  for (const id of [1, 2])
    gateways.push(await startGateway(files, { CACHE_MAX_BYTES: '0' }, undefined, workers.open(id)));
  const [first, second] = gateways as [TestGateway, TestGateway];
  const call = (gateway: TestGateway, position: string) =>
    gateway.call('test', method, [storageParams[0], position, '0x1']);
  for (const gateway of gateways) expect(await call(gateway, '0x0')).toMatchObject({ result: word(1) });
  node.calls.length = 0;
  node.always(({ response }) => void response.writeHead(429, { 'retry-after': '20' }).end(), method);
  expect(await call(first, '0x1')).toHaveProperty('error');
  await eventually(async () => {
    const response = await fetch(`${second.address}/test`, { headers: { accept: 'application/json' } });
    const { networks } = (await response.json()) as { networks: { upstreams: { state: string }[] }[] };
    return networks[0]?.upstreams[0]?.state === 'paused';
  });
  expect(await call(second, '0x2')).toHaveProperty('error');
  expect(node.callsOf(method)).toHaveLength(1);
  expect(workers.errors).toEqual([]);
});

it('failures of several workers within a second count once', async () => {
  const time = shiftClock();
  const node = await startFakeNode({ chainId: CHAIN_ID, responses: { eth_getStorageAt: word(1) } });
  const files = {
    test: network(CHAIN_ID, [], {
      upstreams: [{ name: 'node', url: node.url, batch: false }],
      failsafe: { hedgeAfterMs: 'off' },
    }),
  };
  const workers = new LinkedWorkers();
  new MachineSlots(workers.router, 4).serve();
  workers.router.on('workers', () => ({ running: 4, ends: {} }));
  const gateways: TestGateway[] = [];
  onTestFinished(async () => {
    for (const gateway of gateways) await gateway.stop();
    await node.close();
  });
  for (const id of [1, 2, 3, 4])
    gateways.push(await startGateway(files, { CACHE_MAX_BYTES: '0' }, undefined, workers.open(id, 4)));
  const [first] = gateways as [TestGateway];
  const call = (gateway: TestGateway, position: number) =>
    gateway.call('test', 'eth_getStorageAt', [storageParams[0], `0x${position.toString(16)}`, 'latest']);
  const failures = async (): Promise<number> =>
    (await readMetrics(first.address)).value('gatehouse_head_polls_total', { upstream: 'node', outcome: 'rate' }) ?? 0;
  for (const gateway of gateways) expect(await call(gateway, 0)).toMatchObject({ result: word(1) });

  // More calls at once need new connections, and each worker checks the chain id after its own.
  time.forward(6_000);
  node.always(rejects({ status: 429, ...(bodies['JSON-RPC'] as Omit<Form, 'status'>) }), 'eth_chainId');
  for (const [index, gateway] of gateways.entries()) {
    const before = node.callsOf('eth_chainId').length;
    const held: (() => void)[] = [];
    const hold: Behaviour = async (exchange) => {
      await new Promise<void>((resolve) => held.push(resolve));
      asUsual(exchange);
    };
    node.always(hold, undefined);
    const calls = Promise.all([1, 2, 3].map((position) => call(gateway, position)));
    await eventually(async () => node.callsOf('eth_chainId').length > before && (await failures()) > index);
    node.always(undefined, undefined);
    await eventually(() => held.length === 3);
    for (const release of held) release();
    await calls;
    time.forward(100);
  }
  expect(await failures()).toBe(4);
  for (const { address } of gateways)
    expect(await (await fetch(`${address}/readyz`)).json()).toMatchObject({ networks: { test: { up: 1 } } });
});
