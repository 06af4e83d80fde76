import { onTestFinished } from 'vitest';
import { readMetrics } from '../metrics/read-metrics.ts';
import { asUsual, type Exchange } from '../support/behaviours.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeNode, type FakeNode } from '../support/fake-node.ts';
import { startFakeWebSocketNode } from '../support/fake-websocket-node.ts';
import { network, startGateway, type TestGateway } from '../support/gateway.ts';
import { readAt } from './two-keys.ts';

/** A gateway in front of a node that holds its responses to storage reads until the test releases them. */
export interface HeldNode {
  readonly gateway: TestGateway;
  /** The positions of the reads that arrived, in order; those of one batch together, as `1,2`. */
  readonly arrived: () => string[];
  /** Responds to the oldest request that has no response, if there is one. */
  readonly release: () => void;
  /** Waits until the gateway has this many calls in progress. */
  readonly untilInProgress: (calls: number) => Promise<void>;
}

const CHAIN_ID = 7;
/** Calls are held until others have arrived, which takes long on a loaded machine. */
const patient = { UPSTREAM_TIMEOUT_MS: '60000', CALL_TIMEOUT_MS: '60000' };
type Env = Record<string, string>;

/** @param options of the upstream in the network file */
export async function heldHttp(env: Env, options: object = {}): Promise<HeldNode & { node: FakeNode }> {
  const node = await startFakeNode({
    chainId: CHAIN_ID,
    responses: { eth_getStorageAt: `0x${'07'.padStart(64, '0')}` },
  });
  const gateway = await openGateway(env, [{ name: 'node', url: node.url, ...options }], () => node.close());
  const held: Exchange[] = [];
  node.response('eth_sendRawTransaction', `0x${'77'.repeat(32)}`);
  node.response('bor_getAuthor', '0x1');
  node.calls.length = 0;
  node.always((exchange) => void held.push(exchange), 'eth_getStorageAt');
  return {
    gateway,
    node,
    arrived: () => [...new Set(node.callsOf('eth_getStorageAt').map(({ body }) => body))].map(positionsIn),
    release: () => {
      const exchange = held.shift();
      if (exchange !== undefined) asUsual(exchange);
    },
    untilInProgress: (calls) => untilInProgress(gateway, calls),
  };
}

export async function heldWebSocket(env: Env): Promise<HeldNode> {
  const node = await startFakeWebSocketNode(CHAIN_ID);
  const gateway = await openGateway(env, [{ name: 'node', websocketUrl: node.url }], () => node.stop());
  const held: (() => void)[] = [];
  const arrived: string[] = [];
  node.onCall(({ method, params, respond }) => {
    if (method !== 'eth_getStorageAt') respond();
    else {
      arrived.push(String(Number(params[1])));
      held.push(respond);
    }
  });
  return {
    gateway,
    arrived: () => arrived,
    release: () => held.shift()?.(),
    untilInProgress: (calls) => untilInProgress(gateway, calls),
  };
}

/** The first call checks the chain id, and opens the connection. */
async function openGateway(env: Env, upstreams: object[], stopNode: () => Promise<void>): Promise<TestGateway> {
  const file = network(CHAIN_ID, [], {
    upstreams,
    failsafe: { hedgeAfterMs: 'off' },
    methods: ['eth', 'bor_getAuthor'],
  });
  const gateway = await startGateway({ main: file }, { CACHE_MAX_BYTES: '0', ...patient, ...env });
  onTestFinished(async () => {
    await gateway.stop();
    await stopNode();
  });
  await gateway.post('main', JSON.stringify(readAt(0)));
  return gateway;
}

function positionsIn(body: string): string {
  const calls = [JSON.parse(body) as { params: string[] }].flat();
  return calls.map(({ params }) => Number(params[1])).join();
}

async function untilInProgress({ address }: TestGateway, calls: number): Promise<void> {
  await eventually(
    async () => (await readMetrics(address)).value('gatehouse_calls_in_flight', { network: 'main' }) === calls,
  );
}
