import { createHmac } from 'node:crypto';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, onTestFinished } from 'vitest';
import { EventList, type Condition, type GatewayEvent } from '../../gateway/observability/event-list.ts';
import { sendEvents, type EventWebhook } from '../../gateway/observability/event-webhook.ts';
import { eventually } from '../support/eventually.ts';
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
/** Status of the next responses. */
let status: number;
let lines: Record<string, unknown>[];

beforeEach(async () => {
  [received, lines, status] = [[], [], 204];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      received.push({ headers: request.headers, body });
      response.writeHead(status).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const log = pino({ base: null }, { write: (line) => void lines.push(JSON.parse(line) as Record<string, unknown>) });
const eventsIn = ({ body }: Received): GatewayEvent[] => (JSON.parse(body) as { events: GatewayEvent[] }).events;
const shortOf = ({ reason, endedAt }: GatewayEvent): string =>
  `${reason}${typeof endedAt === 'string' ? ' ended' : ''}`;
const allSent = (): string[] => received.flatMap((one) => eventsIn(one).map(shortOf));

/** Starts a webhook to the server. Its list is updated by the test. */
function start(list: EventList, more: Partial<EventWebhook> = {}): void {
  const { port } = server.address() as AddressInfo;
  const read = (): Promise<GatewayEvent[]> => Promise.resolve(list.find({}, 1_000));
  const url = `http://127.0.0.1:${port}/hook?key=hidden`;
  const stopping = new AbortController();
  onTestFinished(() => {
    stopping.abort();
  });
  void sendEvents({ url, secret, read, isFirst: () => true, log, ...more }, stopping.signal);
}

/** Ends intervals until the server has this number of requests, whose responses have arrived. */
async function waitFor(count: number): Promise<void> {
  await eventually(async () => {
    await time().advance(5_000);
    return received.length >= count;
  });
  expect(received.length).toBe(count);
}

it('sends an event at its begin and at its end, signed', async () => {
  const list = new EventList(log);
  start(list);
  list.update([dead]);
  await waitFor(1);
  list.update([]);
  await waitFor(2);
  await time().advance(60_000);
  expect(allSent()).toEqual(['no upstream works', 'no upstream works ended']);
  const [first, second] = received.map(({ headers, body }) => ({ headers, body }));
  expect(JSON.parse(second?.body ?? '')).toMatchObject({
    gateway: expect.stringMatching(/./) as string,
    text: expect.stringMatching(/^network five: no upstream works, ended after \d+ s$/) as string,
  });
  const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': signature } = first?.headers ?? {};
  const expected = createHmac('sha256', secret).update(`${String(id)}.${String(at)}.${first?.body ?? ''}`);
  expect(signature).toBe(`v1,${expected.digest('base64')}`);
});

it('sends events of a request that failed again, with the same id, after pauses that double; and logs no URL', async () => {
  const list = new EventList(log);
  status = 500;
  start(list);
  list.add({ kind: 'admin', reason: 'create 0123456789ab', by: 'ci' });
  await waitFor(1);
  await waitFor(2);
  await waitFor(3);
  status = 200;
  await waitFor(4);
  await time().advance(600_000);
  expect(received.length).toBe(4);
  expect(new Set(received.map(({ headers }) => headers['webhook-id'])).size).toBe(1);
  await eventually(() => lines.length === 2);
  expect(lines).toMatchObject([{ error: 'HTTP 500' }, { msg: 'events are sent to EVENTS_WEBHOOK_URL again' }]);
  expect(JSON.stringify(lines)).not.toContain('hidden');
});

it('sends at most 100 events in a request, none without an event, and none while another worker sends', async () => {
  const list = new EventList(log);
  let isFirst = false;
  start(list, { isFirst: () => isFirst, secret: undefined });
  list.add({ kind: 'admin', reason: 'before' });
  await time().advance(60_000);
  expect(received).toEqual([]);
  isFirst = true;
  await time().advance(10_000);
  for (let number = 0; number < 150; number++) list.add({ kind: 'admin', reason: String(number) });
  await waitFor(2);
  expect(received.map((one) => eventsIn(one).length)).toEqual([100, 50]);
  expect(allSent()).toEqual(Array.from({ length: 150 }, (_, number) => String(number)));
  expect(received[0]?.headers['webhook-signature']).toBeUndefined();
});
