import { once } from 'node:events';
import { WebSocket } from 'ws';
import { blocksAbove, commonAncestor, includes, isRival, logIdentity, logsOf, type DayBlock } from './day-block.ts';
import type { ServedView } from './served-view.ts';

type Fields = Readonly<Record<string, unknown>>;

interface Message {
  readonly id?: number;
  readonly result?: string;
  readonly error?: { readonly code: number; readonly message: string };
  readonly params?: { readonly subscription: string; readonly result: Fields };
}

/** A subscriber of heads and logs, which checks each notification. */
export class Subscriber {
  /** The delivered heads that were not replaced, oldest first. */
  chain: DayBlock[] = [];
  /** Delivered logs that were not removed. */
  readonly logs = new Set<string>();
  /** The removed logs, by block. */
  readonly removed = new Map<DayBlock, Set<string>>();
  /** Whether notifications may jump: the chain started again from genesis. */
  mayJump = false;
  readonly #view: ServedView;
  readonly #socket: WebSocket;
  /** The head when the subscriptions were confirmed. The logs of the blocks above it must be delivered. */
  #startedAt: DayBlock;
  #heads: string | undefined;
  #closeCode: number | undefined;

  private constructor(view: ServedView, socket: WebSocket) {
    this.#view = view;
    this.#socket = socket;
    this.#startedAt = view.chain.possibleHead;
  }

  /** @param address of the logs */
  static async open(url: string, view: ServedView, address: string): Promise<Subscriber> {
    const socket = new WebSocket(url);
    const subscriber = new Subscriber(view, socket);
    await once(socket, 'open');
    const confirmed = new Promise<void>((resolve) => {
      socket.on('message', (data) => {
        const message = JSON.parse((data as Buffer).toString()) as Message;
        if (message.id === 0) subscriber.#heads = message.result;
        if (message.error !== undefined) view.violate('subscription', JSON.stringify(message));
        if (message.id === 1) resolve();
        if (message.params !== undefined) subscriber.#take(message.params.subscription, message.params.result);
      });
    });
    socket.on('close', (code) => (subscriber.#closeCode = code));
    for (const [id, params] of [['newHeads'], ['logs', { address }]].entries()) {
      socket.send(JSON.stringify({ jsonrpc: '2.0', id, method: 'eth_subscribe', params }));
    }
    await confirmed;
    subscriber.#startedAt = view.chain.possibleHead;
    return subscriber;
  }

  get closeCode(): number | undefined {
    return this.#closeCode;
  }

  /** Whether the head of a block, and the logs of all blocks before it, are delivered. */
  has(block: DayBlock): boolean {
    return this.chain.includes(block) && this.missingLogs(block).length === 0;
  }

  /** The logs of the branch that are not delivered. */
  missingLogs(head: DayBlock): string[] {
    const start = commonAncestor(head, this.#startedAt);
    return blocksAbove(head, start.number)
      .flatMap(logsOf)
      .filter((log) => !this.logs.has(log));
  }

  /** The delivered logs of blocks that are not in this branch. */
  staleLogs(head: DayBlock): string[] {
    const { blocks } = this.#view.chain;
    return [...this.logs].filter((log) => !includes(head, blocks.get(log.split(' ')[0] ?? '') ?? head));
  }

  close(): void {
    this.#socket.terminate();
  }

  #take(subscription: string, result: Fields): void {
    const block = this.#view.chain.blocks.get(
      String(subscription === this.#heads ? result['hash'] : result['blockHash']),
    );
    if (block === undefined) this.#view.violate('subscription: wrong', JSON.stringify(result));
    else if (subscription === this.#heads) this.#takeHead(block);
    else this.#takeLog(block, result);
  }

  #takeHead(block: DayBlock): void {
    const view = this.#view;
    view.count('heads');
    const text = `${describe(block)} after ${describe(this.chain.at(-1))}`;
    const parentAt = this.chain.findIndex(({ hash }) => hash === block.parent?.hash);
    if (this.chain.includes(block)) view.violate('subscription: head twice', text);
    else if (this.chain.length > 0 && parentAt === -1 && !this.mayJump)
      view.violate('subscription: head missing', text);
    const replaced = this.chain.slice(parentAt + 1);
    if (parentAt !== -1 && replaced.length > 0 && !replaced.every((one) => isRival(block, one))) {
      view.violate('subscription: head', text);
    }
    if (!this.chain.includes(block)) this.chain = [...this.chain.slice(0, parentAt + 1), block];
    this.#checkDead('head', block);
    view.serve(block);
  }

  #takeLog(block: DayBlock, log: Fields): void {
    const view = this.#view;
    view.count('logs');
    const identity = logIdentity(log);
    const text = `${identity} of ${describe(block)}, the first node is at ${describe(view.chain.head)}`;
    if (!logsOf(block).includes(identity)) view.violate('subscription: log of no transaction', text);
    if (log['removed'] === true) {
      view.count('removed');
      if (!this.logs.delete(identity)) view.violate('subscription: removed without log', text);
      if (!isRival(view.chain.possibleHead, block)) view.violate('subscription: removed', text);
      const removed = this.removed.get(block) ?? new Set();
      this.removed.set(block, removed.add(identity));
      return;
    }
    if (this.logs.has(identity)) view.violate('subscription: log twice', text);
    this.logs.add(identity);
    this.#checkDead('log', block);
    view.serve(block);
  }

  #checkDead(what: string, block: DayBlock): void {
    if (block.generation === this.#view.chain.generation || block.number === 0) return;
    if (this.#view.allowance.replaced === undefined) this.#view.violate('dead', `${what} of ${describe(block)}`);
  }
}

export function describe(block: DayBlock | undefined): string {
  return block === undefined ? 'none' : `${block.number} ${block.hash.slice(0, 10)}`;
}
