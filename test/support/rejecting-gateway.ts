import { once } from 'node:events';
import { request } from 'node:http';
import { WebSocket } from 'ws';
import { digestOf, keyIdOf, makeKey } from '../../gateway/auth/formats/key.ts';
import type { PermissionChange } from '../../gateway/auth/stores/key-store.ts';
import { closeReasons } from '../../gateway/server/websocket/close-codes.ts';
import { hang } from './behaviours.ts';
import { eventually } from './eventually.ts';
import { startFakeNode } from './fake-node.ts';
import { network, patient, startGateway, type TestGateway } from './gateway.ts';
import { startRedis } from './redis.ts';

/** The statuses of rejections over HTTP, with the text that shows the cause. */
export const rejectionTexts = {
  401: 'invalid project id',
  403: 'rejected due to project ID settings',
  404: 'no network at this address',
  413: 'body too large',
  429: 'too many requests in flight with this project id',
  503: 'no upstream could answer',
} as const;
export type RejectionStatus = keyof typeof rejectionTexts;
export const rejectionStatuses = Object.keys(rejectionTexts).map(Number) as RejectionStatus[];

/** The close codes of WebSockets, with the close reason. */
export const closeTexts = {
  1008: closeReasons['key-invalid'].text,
  1012: closeReasons.stopping.text,
  1013: closeReasons['key-store-unreachable'].text,
} as const;
export type CloseCode = keyof typeof closeTexts;
export const closeCodes = Object.keys(closeTexts).map(Number) as CloseCode[];

const BODY_MAX_BYTES = 4_000;
/** The input of a call that exceeds `BODY_MAX_BYTES`. */
export const tooLargeInput = `0x${'ab'.repeat(BODY_MAX_BYTES)}`;
/** Time longer than the rejections of any client take. */
const HOLD_MS = 600_000;

export interface RejectingGateway {
  /** The address at which every call, or every large one, is rejected with this status. */
  url(status: RejectionStatus): string;
  stop(): Promise<void>;
}

/** @param node the URL of a node of this chain */
export async function startRejectingGateway(node: string, chainId: number): Promise<RejectingGateway> {
  const holding = await startFakeNode({ chainId });
  holding.always(hang, 'eth_getBalance');
  const networks = {
    main: network(chainId, [node]),
    dead: network(chainId, ['http://127.0.0.1:1']),
    holding: network(chainId, [holding.url], { failsafe: { eth_getBalance: { timeoutMs: HOLD_MS } } }),
  };
  const gateway = await startGateway(networks, {
    BODY_MAX_BYTES: String(BODY_MAX_BYTES),
    CALL_TIMEOUT_MS: String(HOLD_MS),
  });
  const addKey = async (permissions: PermissionChange): Promise<string> => {
    const key = makeKey();
    const record = { name: 'test', createdAt: new Date().toISOString() };
    await gateway.gateway.keys.add(digestOf(key), record);
    await gateway.gateway.keys.update(keyIdOf(digestOf(key)), permissions);
    return key;
  };
  const keys: Partial<Record<RejectionStatus, string>> = {
    401: 'unknown',
    403: await addKey({ networks: 'dead' }),
    429: await addKey({ concurrency: '1' }),
  };
  const url = (status: RejectionStatus): string => {
    const slug = status === 404 ? 'unknown' : status === 503 ? 'dead' : 'main';
    return `${gateway.address}/${slug}/v3/${keys[status] ?? gateway.key}`;
  };
  // The only slot of the key stays taken, so clients that retry are never served. A rate limit would be refilled.
  const body =
    '{"jsonrpc":"2.0","id":1,"method":"eth_getBalance","params":["0x0000000000000000000000000000000000000001","latest"]}';
  // It has no time limit, unlike fetch.
  const held = request(url(429).replace('/main/', '/holding/'), { method: 'POST' });
  held.on('error', () => undefined).end(body);
  await eventually(() => holding.callsOf('eth_getBalance').length > 0);
  return {
    url,
    async stop() {
      held.destroy();
      await holding.close();
      await gateway.stop();
    },
  };
}

export interface ClosingGateway {
  readonly socketUrl: string;
  /** Makes the gateway close all sockets with the code, and waits until it has. */
  close(): Promise<void>;
  stop(): Promise<void>;
}

export async function startClosingGateway(code: CloseCode, node: string, chainId: number): Promise<ClosingGateway> {
  const redis = code === 1013 ? await startRedis() : undefined;
  const env = redis === undefined ? {} : { REDIS_URL: redis.url, KEY_STALE_MAX_S: '1', ...patient };
  const gateway: TestGateway = await startGateway({ main: network(chainId, [node]) }, env);
  const socketUrl = `${gateway.address.replace('http', 'ws')}/main/ws/v3/${gateway.key}`;
  // A socket of its own shows when the gateway has closed those of the key.
  const witness = new WebSocket(socketUrl);
  await once(witness, 'open');
  const closed = once(witness, 'close');
  let stopped: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopped ??= gateway.stop());
  return {
    socketUrl,
    async close() {
      if (code === 1008) await gateway.gateway.keys.revoke(keyIdOf(digestOf(gateway.key)));
      else if (code === 1012) await stop();
      else await redis?.kill();
      await closed;
    },
    async stop() {
      await stop();
      await redis?.stop();
    },
  };
}
