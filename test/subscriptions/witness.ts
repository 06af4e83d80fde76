import { SocketSubscriber, WebSocketProvider, type LogParams } from 'ethers';
import { createPublicClient, webSocket, type Hex } from 'viem';
import type { TestGateway } from '../support/gateway.ts';
import { socketUrl } from '../server/websocket/caller.ts';
import { openSubscriber } from './subscriber.ts';

export interface SeenHead {
  readonly number: string;
  readonly hash: string;
  readonly parentHash: string;
}

export interface SeenLog {
  readonly blockHash: string;
  readonly index: number;
  readonly removed: boolean;
}

/** The events that one client library received from a network, in order. */
export interface Witness {
  readonly name: string;
  readonly heads: readonly SeenHead[];
  readonly logs: readonly SeenLog[];
  readonly errors: readonly unknown[];
  close(): Promise<void>;
}

/** Witness without a client library, over `ws`. */
export async function rawWitness(gateway: TestGateway, slug: string, address: string): Promise<Witness> {
  const subscriber = await openSubscriber(gateway, slug);
  const heads = (await subscriber.subscribe('newHeads')) as SeenHead[];
  const notifications = (await subscriber.subscribe('logs', { address })) as (SeenLog & { logIndex: string })[];
  return {
    name: 'ws',
    errors: [],
    heads,
    get logs() {
      return notifications.map((log) => ({ ...log, index: Number(log.logIndex) }));
    },
    close() {
      subscriber.caller.socket.terminate();
      return Promise.resolve();
    },
  };
}

/** Uses ethers' `SocketSubscriber`: its public events report removed logs only for logs known in advance. */
export function ethersWitness(gateway: TestGateway, slug: string, address: string): Promise<Witness> {
  const provider = new WebSocketProvider(socketUrl(gateway, slug));
  const heads: SeenHead[] = [];
  const logs: SeenLog[] = [];
  class Subscriber<Result> extends SocketSubscriber {
    readonly #take: (result: Result) => void;

    constructor(filter: unknown[], take: (result: Result) => void) {
      super(provider, filter);
      this.#take = take;
    }

    override _emit(_: unknown, result: Result): Promise<void> {
      this.#take(result);
      return Promise.resolve();
    }
  }
  new Subscriber<SeenHead>(['newHeads'], (head) => heads.push(head)).start();
  new Subscriber<LogParams>(['logs', { address }], (log) => {
    const { blockHash, index, removed } = provider._wrapLog(log, provider._network);
    logs.push({ blockHash, index, removed });
  }).start();
  return Promise.resolve({ name: 'ethers', heads, logs, errors: [], close: () => provider.destroy() });
}

export async function viemWitness(gateway: TestGateway, slug: string, address: string): Promise<Witness> {
  const transport = webSocket(socketUrl(gateway, slug), { retryCount: 0, reconnect: false });
  const client = createPublicClient({ transport });
  const heads: SeenHead[] = [];
  const errors: unknown[] = [];
  const logs: SeenLog[] = [];
  await client.transport.subscribe({
    params: ['newHeads'],
    onData: ({ result }) => heads.push(result as SeenHead),
    onError: (error) => errors.push(error),
  });
  client.watchEvent({
    address: address as Hex,
    onLogs: (events) => {
      for (const { blockHash, logIndex: index, removed } of events) logs.push({ blockHash, index, removed });
    },
    onError: (error) => errors.push(error),
  });
  const { socket } = (await client.transport.getRpcClient()) as { socket: { close(): void } };
  const close = (): Promise<void> => {
    socket.close();
    return Promise.resolve();
  };
  return { name: 'viem', heads, logs, errors, close };
}
