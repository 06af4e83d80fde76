import { request, type Agent } from 'node:http';
import { workerIn } from '../../gateway/subscriptions/polled-filter.ts';
import { readMetrics } from '../metrics/read-metrics.ts';
import { openCaller, type Caller } from '../server/websocket/caller.ts';
import { eventually } from '../support/eventually.ts';
import { childrenOf } from '../support/process-tree.ts';
import { freePort } from '../support/redis.ts';
import { Workplace, type Gateway } from './gateway-process.ts';

export const adminToken = 'T0ken-0f-an-operator';
/** Time longer than a worker takes to start on a loaded machine. */
export const START_MS = 50_000;
/** Twice as many connections as workers would do, if one worker were not busy at that moment. */
export const CONNECTIONS = 12;

export interface Reply {
  readonly status: number;
  readonly headers: Readonly<Record<string, unknown>>;
  readonly result?: unknown;
  readonly error?: { readonly code: number; readonly message: string };
}

type Entries = [[number, Caller], [number, Caller]];

export interface CallOptions {
  /** The last part of the path; empty: none. Default: a key without limits */
  readonly key?: string;
  /** Default: `main` */
  readonly slug?: string;
  /** Default: a connection of its own, which goes to the worker with the fewest */
  readonly agent?: Agent;
  readonly headers?: Readonly<Record<string, string>>;
  readonly address?: string;
}

/** A gateway with two workers, as processes, and a key without limits. */
export class TwoWorkers {
  readonly place: Workplace;
  readonly gateway: Gateway;
  /** Address of the ops port. */
  readonly ops: string;
  key = '';

  private constructor(place: Workplace, gateway: Gateway, ops: string) {
    [this.place, this.gateway, this.ops] = [place, gateway, ops];
  }

  /** @param networks network files by slug; `main` serves `eth_getStorageAt` */
  static async start(networks: Record<string, object>, env: Record<string, string> = {}): Promise<TwoWorkers> {
    const place = new Workplace().withNetworks(networks);
    const opsPort = String(await freePort());
    const gateway = await place.start({ WORKERS: '2', OPS_PORT: opsPort, ADMIN_TOKEN: adminToken, ...env });
    const started = new TwoWorkers(place, gateway, `http://127.0.0.1:${opsPort}`);
    await eventually(() => started.bothListen(), START_MS);
    started.key = await started.knownKey();
    return started;
  }

  call(method: string, params: unknown = [], options: CallOptions = {}): Promise<Reply> {
    const { key = this.key, slug = 'main', agent = false, address = this.gateway.address } = options;
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
    const length = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
    const given = { method: 'POST', agent, headers: { ...length, ...options.headers } };
    return new Promise((resolve, reject) => {
      const sent = request(`${address}/${slug}/v3${key && `/${key}`}`, given, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => {
          const { statusCode: status = 0, headers } = response;
          const isJson = headers['content-type']?.includes('json') === true;
          resolve({ status, headers, ...(isJson && (JSON.parse(text) as object)) });
        });
        response.on('error', reject);
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  /** A call of one request unit. */
  storage(options?: CallOptions): Promise<Reply> {
    return this.call('eth_getStorageAt', [`0x${'12'.repeat(20)}`, '0x0', 'latest'], options);
  }

  async admin(path: string, body?: object, verb = 'POST'): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${adminToken}`, 'content-type': 'application/json', connection: 'close' };
    const sent = body === undefined ? {} : { method: verb, body: JSON.stringify(body) };
    const response = await fetch(`${this.ops}/admin${path}`, { headers, ...sent });
    return (await response.json()) as Record<string, unknown>;
  }

  /** A worker may not know it yet: then calls are 401. */
  async createKey(permissions: object = {}): Promise<{ readonly key: string; readonly id: string }> {
    return (await this.admin('/keys', { name: 'test', permissions })) as { key: string; id: string };
  }

  /** A key that both workers know. @param permissions without a rate or quota */
  async knownKey(permissions: object = {}): Promise<string> {
    const { key } = await this.createKey(permissions);
    await this.eventuallyAll(() => this.storage({ key }), 200);
    return key;
  }

  /** Waits at most 20 s until the same call over many connections has this status. Without a report, a key is cached for 30 s. */
  async eventuallyAll(send: () => Promise<Reply>, status: number): Promise<void> {
    await eventually(async () => (await onAll(send)).every((reply) => reply.status === status));
  }

  /** Sends calls until all are 429, and at least `size` were served. @returns how many were served */
  async servedOf(send: () => Promise<Reply>, size: number): Promise<number> {
    let served = 0;
    await eventually(async () => {
      const replies = await Promise.all(Array.from({ length: 3 * CONNECTIONS }, send));
      served += replies.filter(({ status }) => status === 200).length;
      return served >= size && replies.every(({ status }) => status === 429);
    });
    return served;
  }

  socketUrl(key = this.key, slug = 'main'): string {
    return `${this.gateway.address.replace('http', 'ws')}/${slug}/ws/v3${key && `/${key}`}`;
  }

  openSocket(key?: string, slug?: string, headers: Readonly<Record<string, string>> = {}): Promise<Caller> {
    return openCaller(this.socketUrl(key, slug), { headers });
  }

  /** A socket at each of the two workers, that of the older one first. */
  async socketAtEach(
    key?: string,
    slug?: string,
    headers?: CallOptions['headers'],
  ): Promise<readonly [Caller, Caller]> {
    const opened = new Map<number, Caller>();
    while (opened.size < 2) {
      const caller = await this.openSocket(key, slug, headers);
      const worker = await workerOf(caller);
      if (opened.has(worker)) caller.socket.terminate();
      else opened.set(worker, caller);
    }
    const [[, older], [, newer]] = [...opened].sort(([one], [other]) => one - other) as Entries;
    return [older, newer];
  }

  /** The sum over both workers. */
  async valueOf(name: string, labels?: Record<string, string>): Promise<number> {
    return (await readMetrics(this.ops)).value(name, labels) ?? 0;
  }

  async bothListen(): Promise<boolean> {
    return (await this.valueOf('gatehouse_workers')) === 2;
  }

  /** Ids of the workers' processes, the oldest first. */
  get workers(): number[] {
    return childrenOf(this.gateway.pid);
  }

  close(): Promise<void> {
    return this.place.close();
  }
}

/** The same call over many connections, which reach all workers. */
export function onAll<Result>(send: () => Promise<Result>): Promise<Result[]> {
  return Promise.all(Array.from({ length: CONNECTIONS }, () => send()));
}

/** The id of the worker of a socket: a filter has it. All earlier messages of the socket are handled. */
export async function workerOf(caller: Caller): Promise<number> {
  const { result } = (await caller.call('eth_newBlockFilter')) as { result: string };
  return workerIn(result);
}
