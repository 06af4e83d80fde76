import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, onTestFinished, vi } from 'vitest';
import { EventList, type Condition, type GatewayEvent } from '../../gateway/observability/event-list.ts';
import { sendEvents, type EventWebhook } from '../../gateway/observability/event-webhook.ts';
import { eventually } from '../support/eventually.ts';
import { network, startGateway } from '../support/gateway.ts';
import { simulateTime } from '../support/simulate-time.ts';

const dead: Condition = { kind: 'network', network: 'five', reason: 'no upstream works' };
const secret = 'a-secret-of-sixteen-characters';
const time = simulateTime();

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
let server: Server;
let received: Received[];
/** Status of the next responses; undefined: the server does not respond. */
let status: number | undefined;
let lines: Record<string, unknown>[];
/** Requests in progress. While there is one, simulated time must not reach its limit. */
let inFlight: number;

beforeEach(async () => {
  [received, lines, status, inFlight] = [[], [], 204, 0];
  const send = globalThis.fetch;
  vi.spyOn(globalThis, 'fetch').mockImplementation((...request) => {
    inFlight++;
    return send(...request).finally(() => inFlight--);
  });
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      if (status !== undefined) response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  vi.restoreAllMocks();
  server.closeAllConnections();
  server.close();
});

const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
const eventIn = ({ body }: Received): GatewayEvent => (JSON.parse(body) as { event: GatewayEvent }).event;
const shortOf = ({ reason, endedAt }: GatewayEvent): string =>
  `${reason}${typeof endedAt === 'string' ? ' ended' : ''}`;
const allSent = (): string[] => received.map(eventIn).map(shortOf);
const ids = (): Set<unknown> => new Set(received.map(({ headers }) => headers['webhook-id']));

/** Starts a webhook to the server. Its list is updated by the test. @returns stops it */
function start(list: EventList, more: Partial<EventWebhook> = {}): () => void {
  const { port } = server.address() as AddressInfo;
  const read = (): Promise<GatewayEvent[]> => Promise.resolve(list.find({}, 1_000));
  const url = `http://127.0.0.1:${port}/hook?key=hidden`;
  const stopping = new AbortController();
  const stop = (): void => {
    stopping.abort();
  };
  onTestFinished(stop);
  void sendEvents({ url, secret, read, isFirst: () => true, log, ...more }, stopping.signal);
  return stop;
}

/** Ends intervals, each while no request is in progress, until the server has this number of requests with responses. */
async function waitFor(count: number): Promise<void> {
  await eventually(async () => {
    if (inFlight === 0 && received.length < count) await time().advance(5_000);
    return inFlight === 0 && received.length >= count;
  });
  expect(received.length).toBe(count);
}

/** Advances the time, while no request is in progress. */
async function pass(ms: number): Promise<void> {
  for (const end = time().now() + ms; time().now() < end; await time().advance(5_000))
    await eventually(() => inFlight === 0);
  await eventually(() => inFlight === 0);
}

/** Waits for a request to which the server does not respond. */
async function waitUntilSending(): Promise<void> {
  await eventually(async () => {
    if (inFlight === 0) await time().advance(5_000);
    return received.length === 1;
  });
}

function signatureOf(request: Received | undefined, key: string | Buffer): string {
  const { 'webhook-id': id, 'webhook-timestamp': at } = request?.headers ?? {};
  const hmac = createHmac('sha256', key).update(`${String(id)}.${String(at)}.${request?.body ?? ''}`);
  return `v1,${hmac.digest('base64')}`;
}

it('sends an event at its begin and at its end, signed', async () => {
  const list = new EventList(log);
  start(list);
  list.update([dead]);
  await waitFor(1);
  list.update([]);
  await waitFor(2);
  await pass(60_000);
  expect(allSent()).toEqual(['no upstream works', 'no upstream works ended']);
  const [first, second] = received.map(({ headers, body }) => ({ headers, body }));
  expect(JSON.parse(second?.body ?? '')).toMatchObject({
    gateway: expect.stringMatching(/./) as string,
    text: expect.stringMatching(/^network five: no upstream works, ended after \d+ s$/) as string,
  });
  expect(ids().size).toBe(2);
  expect(first?.headers['webhook-signature']).toBe(signatureOf(first, secret));
});

it('a secret that begins with whsec_ is the base64 of the key, as the libraries of Standard Webhooks read it', async () => {
  const key = Buffer.from('key of some thirty-two bytes ÿþý');
  const list = new EventList(log);
  start(list, { secret: `whsec_${key.toString('base64')}` });
  list.update([dead]);
  await waitFor(1);
  expect(received[0]?.headers['webhook-signature']).toBe(signatureOf(received[0], key));
});

it('sends an event whose request failed again, with the same id, after pauses that double; and logs no URL', async () => {
  const list = new EventList(log);
  status = 500;
  start(list);
  for (let request = 1; request <= 4; request++) {
    if (request === 4) status = 200;
    // The condition lasts: the body has its seconds.
    list.update([dead]);
    await waitFor(request);
  }
  await pass(600_000);
  expect(received.length).toBe(4);
  expect(new Set(received.map(({ body }) => body)).size).toBe(4);
  expect(ids().size).toBe(1);
  await eventually(() => lines.some(({ msg }) => msg === 'events are sent to EVENTS_WEBHOOK_URL again'));
  expect(lines.filter(({ error }) => error !== undefined)).toMatchObject([{ error: 'HTTP 500' }]);
  expect(JSON.stringify(lines)).not.toContain('hidden');
});

it('sends an event again to a receiver that did not respond within 10 s', async () => {
  const list = new EventList(log);
  status = undefined;
  start(list);
  list.add({ kind: 'admin', reason: 'create' });
  await waitUntilSending();
  await time().advance(9_000);
  expect(lines).toEqual([]);
  await time().advance(1_000);
  await eventually(() => lines.length === 1);
  expect(lines).toMatchObject([{ error: 'ETIMEDOUT' }]);
  status = 204;
  await waitFor(2);
  expect([allSent(), ids().size]).toEqual([['create', 'create'], 1]);
});

it('logs nothing when it is stopped during a request', async () => {
  const list = new EventList(log);
  status = undefined;
  const stop = start(list);
  list.add({ kind: 'admin', reason: 'create' });
  await waitUntilSending();
  stop();
  await pass(60_000);
  expect([lines, received.length]).toEqual([[], 1]);
});

it('sends each event once, without a signature if there is no secret, and none while another worker sends', async () => {
  const list = new EventList(log);
  let isFirst = false;
  start(list, { isFirst: () => isFirst, secret: undefined });
  list.add({ kind: 'admin', reason: 'long before' });
  await pass(600_000);
  expect(received).toEqual([]);
  isFirst = true;
  const names = Array.from({ length: 20 }, (_, number) => String(number));
  for (const reason of names) list.add({ kind: 'admin', reason });
  await waitFor(names.length);
  await pass(60_000);
  expect(allSent()).toEqual(names);
  expect(received[0]?.headers['webhook-signature']).toBeUndefined();
});

it('a worker that becomes the first one sends what ended meanwhile', async () => {
  const list = new EventList(log);
  let isFirst = true;
  const stop = start(list);
  start(list, { isFirst: () => !isFirst });
  list.update([dead]);
  await waitFor(1);
  stop();
  list.update([]);
  await time().advance(5_000);
  isFirst = false;
  await waitFor(2);
  expect(allSent()).toEqual(['no upstream works', 'no upstream works ended']);
});

it('a worker that becomes the first one sends what the one before could not, and again with the same id what lasts', async () => {
  const list = new EventList(log);
  status = 500;
  const stop = start(list);
  list.update([dead]);
  list.add({ kind: 'gateway', reason: 'started' });
  await waitFor(1);
  await pass(40_000);
  stop();
  [status, received] = [204, []];
  start(list);
  await waitFor(2);
  start(list);
  await waitFor(4);
  expect(allSent()).toEqual(['no upstream works', 'started', 'no upstream works', 'started']);
  expect(ids().size).toBe(2);
});

it('sends the start of the gateway also if the first reads of events fail', async () => {
  const list = new EventList(log);
  let reads = 0;
  start(list, {
    read: () => (reads++ < 3 ? Promise.reject(new Error('ended')) : Promise.resolve(list.find({}, 1_000))),
  });
  list.add({ kind: 'gateway', reason: 'started' });
  await waitFor(1);
  expect(allSent()).toEqual(['started']);
});

it('is started with the gateway: the event of its start reaches the receiver', async () => {
  const { port } = server.address() as AddressInfo;
  const env = { EVENTS_WEBHOOK_URL: `http://127.0.0.1:${port}/hook` };
  const gateway = await whileTimePasses(startGateway({ main: network(5, ['http://127.0.0.1:1']) }, env));
  await eventually(async () => {
    if (inFlight === 0) await time().advance(1_000);
    return allSent().includes('started');
  });
  await whileTimePasses(gateway.stop());
});

/** Advances the time until the work has ended. */
async function whileTimePasses<Result>(work: Promise<Result>): Promise<Result> {
  let hasEnded = false;
  void work.finally(() => (hasEnded = true)).catch(() => undefined);
  await eventually(async () => {
    if (inFlight === 0) await time().advance(100);
    return hasEnded;
  });
  return work;
}
