import { privateKeyToAccount, type PrivateKeyAccount } from 'viem/accounts';
import { keccak256, parseGwei } from 'viem';
import { openWebSocketEndpoint, httpEndpoint, type RpcEndpoint } from '../../parity/rpc-endpoint.ts';
import { scenarioPause } from '../../support/scenario-pause.ts';
import { ancestorAt, blocksAbove, logIdentity, logsOf, nonceAt, quantity, type DayBlock } from './day-block.ts';
import type { Sent, ServedView } from './served-view.ts';

/** A contract that emits one log without data per call. */
export const logger = { address: `0x${'1a'.repeat(20)}`, code: '0x602a60006000a100' } as const;

const PAUSE_MS = 80;
const SEND_PAUSE_MS = 400;
/** How far behind the newest served block objects are read. The gateway has the early ones of final blocks permanently. */
const DISTANCES = [0, 1, 0, 2, 4, 0, 9, 25, 60];
const LOG_RANGE = 3;

type Fields = Readonly<Record<string, unknown>>;

/** The callers of one network: several over HTTP, one over a WebSocket. */
export class DayCallers {
  readonly account: PrivateKeyAccount;
  /** Blocks of a chain that was wiped. */
  dead: readonly DayBlock[] = [];
  readonly #view: ServedView;
  readonly #http: RpcEndpoint;
  readonly #chainId: number;
  /** Sockets for reads, and for transactions: responses of one socket arrive in the order of the requests. */
  #sockets: readonly RpcEndpoint[] = [];
  #isEnded = false;
  #loops: Promise<void>[] = [];
  #nonce = 0;
  /** Sent transactions of which no receipt was read yet. */
  readonly unconfirmed = new Set<string>();
  #turn = 0;

  constructor(view: ServedView, account: PrivateKeyAccount, url: string, chainId: number) {
    this.#view = view;
    this.account = account;
    this.#chainId = chainId;
    this.#http = httpEndpoint('HTTP', url);
  }

  async start(socketUrl: string): Promise<void> {
    const socket = await openWebSocketEndpoint('WebSocket', socketUrl);
    const sendSocket = await openWebSocketEndpoint('WebSocket', socketUrl);
    this.#sockets = [socket, sendSocket];
    this.#loops = [
      this.#repeat(PAUSE_MS, () => this.#readNewest(this.#http)),
      this.#repeat(PAUSE_MS, () => this.#readNonce(this.#http)),
      this.#repeat(PAUSE_MS, () => this.#readObject(this.#http)),
      this.#repeat(PAUSE_MS, async () => {
        await this.#readNewest(socket);
        await this.#readNonce(socket);
        await this.#readObject(socket);
      }),
      this.#repeat(SEND_PAUSE_MS, () => this.#sendTransaction(sendSocket)),
      this.#repeat(PAUSE_MS, () => this.#readReceipts()),
    ];
  }

  /** @throws what a caller threw */
  async stop(): Promise<void> {
    this.#isEnded = true;
    const ends = await Promise.allSettled(this.#loops);
    for (const socket of this.#sockets) socket.close();
    for (const end of ends) if (end.status === 'rejected') throw end.reason;
  }

  /** The accounts of the chain are as at genesis. */
  restart(dead: readonly DayBlock[]): void {
    this.dead = dead;
    this.#nonce = 0;
    this.unconfirmed.clear();
    this.#view.forgetNonce();
  }

  async #repeat(pauseMs: number, step: () => Promise<void>): Promise<void> {
    while (!this.#isEnded) {
      await step();
      await scenarioPause(pauseMs);
    }
  }

  async #readNewest(endpoint: RpcEndpoint): Promise<void> {
    await this.#call(endpoint, 'eth_blockNumber', [], (sent, result) => {
      this.#view.takeNewest(sent, Number(result));
    });
    await this.#call(endpoint, 'eth_getBlockByNumber', ['latest', false], (sent, result) => {
      const { number, hash } = (result ?? {}) as Fields;
      this.#view.takeNewest(sent, Number(number), String(hash));
    });
  }

  async #readNonce(endpoint: RpcEndpoint): Promise<void> {
    const { address } = this.account;
    const params = this.#turn % 2 === 0 ? [address, 'latest'] : [address];
    await this.#call(endpoint, 'eth_getTransactionCount', params, (sent, result) => {
      this.#view.takeNonce(sent, Number(result));
    });
  }

  /** Reads about a block that was served, or about one before it. */
  async #readObject(endpoint: RpcEndpoint): Promise<void> {
    const turn = this.#turn++;
    const view = this.#view;
    const { newest } = view;
    const target = ancestorAt(newest, Math.max(1, newest.number - (DISTANCES[turn % DISTANCES.length] ?? 0)));
    if (target.number === 0) return;
    const read = (method: string, params: readonly unknown[], field: 'hash' | 'blockHash'): Promise<void> =>
      this.#call(endpoint, method, params, (sent, result) => {
        view.takeObject(sent, target, hashIn(result, field));
      });
    const readFixed = (
      method: string,
      params: readonly unknown[],
      expected: unknown,
      of: (result: unknown) => unknown,
    ): Promise<void> =>
      this.#call(endpoint, method, params, (sent, result) => {
        view.takeFixed(sent, target, expected, of(result));
      });
    const number = quantity(target.number);
    const [transaction] = target.transactions;
    const { address } = this.account;
    const identities = (logs: unknown): unknown =>
      Array.isArray(logs) ? logs.map((log) => logIdentity(log as Fields)) : logs;
    const from = Math.max(1, target.number - LOG_RANGE);
    const range = blocksAbove(target, from - 1).flatMap(logsOf);
    const reads = [
      () => read('eth_getBlockByNumber', [number, false], 'hash'),
      () => read('eth_getBlockByHash', [target.hash, true], 'hash'),
      () => readFixed('eth_getLogs', [{ blockHash: target.hash }], logsOf(target), identities),
      () =>
        readFixed(
          'eth_getLogs',
          [{ fromBlock: quantity(from), toBlock: number, address: logger.address }],
          range,
          identities,
        ),
      () => readFixed('eth_getTransactionCount', [address, number], quantity(nonceAt(target, address)), String),
      () =>
        readFixed(
          'eth_getBlockReceipts',
          [number],
          target.transactions.map(({ hash }) => hash),
          (receipts) =>
            Array.isArray(receipts) ? receipts.map((one) => (one as Fields)['transactionHash']) : receipts,
        ),
      ...(transaction === undefined
        ? []
        : [
            () => read('eth_getTransactionByHash', [transaction.hash], 'blockHash'),
            () => read('eth_getTransactionReceipt', [transaction.hash], 'blockHash'),
          ]),
    ];
    await reads[Math.floor(turn / 2) % reads.length]?.();
    await this.#readDead(endpoint, turn);
  }

  async #readDead(endpoint: RpcEndpoint, turn: number): Promise<void> {
    const dead = this.dead[turn % this.dead.length];
    if (dead === undefined) return;
    const [transaction] = dead.transactions;
    const of =
      (field: 'hash' | 'blockHash') =>
      (sent: Sent, result: unknown): void => {
        this.#view.takeDead(sent, dead, hashIn(result, field));
      };
    const calls = [
      ['eth_getBlockByNumber', [quantity(dead.number), false], of('hash')],
      ['eth_getBlockByHash', [dead.hash, false], of('hash')],
      ...(transaction === undefined
        ? []
        : [['eth_getTransactionReceipt', [transaction.hash], of('blockHash')] as const]),
    ] as const;
    // 503 is correct for a hash that was served in the last 30 s.
    for (const [method, params, take] of calls) await this.#call(endpoint, method, params, take, true);
  }

  /** Sends the next transaction, over HTTP and the WebSocket by turns, again if an error came. */
  async #sendTransaction(socket: RpcEndpoint): Promise<void> {
    const nonce = this.#nonce;
    const { generation } = this.#view.chain;
    const raw = await this.account.signTransaction({
      ...{ type: 'eip1559', chainId: this.#chainId, nonce, gas: 100_000n, to: logger.address },
      // Differs from those of a chain that was wiped.
      data: `0x${String(generation + 10)}`,
      ...{ maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') },
    });
    const hash = keccak256(raw);
    this.#view.chain.senders.set(hash, this.account.address);
    const endpoint = nonce % 2 === 0 ? this.#http : socket;
    await this.#call(endpoint, 'eth_sendRawTransaction', [raw], (sent, result) => {
      if (this.#view.chain.generation !== generation) return;
      if (result !== hash) this.#view.violate('transaction', `${sent.of}: ${String(result)} instead of ${hash}`);
      this.#nonce = nonce + 1;
      this.unconfirmed.add(hash);
    });
  }

  /** The receipt of a transaction is there once its block was served. */
  async #readReceipts(): Promise<void> {
    const { newest } = this.#view;
    for (const block of blocksAbove(newest, newest.number - 10)) {
      for (const { hash } of block.transactions.filter((one) => this.unconfirmed.has(one.hash))) {
        await this.#call(this.#http, 'eth_getTransactionReceipt', [hash], (sent, result) => {
          const blockHash = hashIn(result, 'blockHash');
          this.#view.takeObject(sent, block, blockHash);
          if (blockHash === block.hash) {
            this.unconfirmed.delete(hash);
            this.#view.count('receipts');
          }
        });
      }
    }
  }

  async #call(
    endpoint: RpcEndpoint,
    method: string,
    params: readonly unknown[],
    take: (sent: Sent, result: unknown) => void,
    mayFail = false,
  ): Promise<void> {
    const expected = this.#view.send(method, params);
    const sent = mayFail ? { ...expected, mayFail } : expected;
    const outcome = await endpoint.request(method, params);
    const space = outcome.indexOf(' ');
    const [kind, json] = [outcome.slice(0, space), outcome.slice(space + 1)];
    if (kind === 'result') take(sent, JSON.parse(json));
    else if (kind === 'error') this.#view.fail(sent, JSON.parse(json) as { code: number; message: string });
    else this.#view.violate('no response', `${sent.of}: ${outcome}`);
  }
}

/** The hash of an object's block. Null: the object is pending; undefined: there is no object. */
function hashIn(object: unknown, field: 'hash' | 'blockHash'): string | null | undefined {
  return object === null ? undefined : ((object as Fields)[field] as string | null);
}

/** The account of the callers of the network with this index. */
export function callerAccount(index: number): PrivateKeyAccount {
  return privateKeyToAccount(`0x${String(index + 3).repeat(64)}`);
}
