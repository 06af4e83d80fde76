import { byteLengthOf, type Body } from '../jsonrpc/buffer-list.ts';
import type { Call, Envelope, InvalidItem } from '../jsonrpc/envelope.ts';
import { batchBytesRejection } from '../jsonrpc/errors.ts';
import { rejectionResponse, type RpcResponse } from '../jsonrpc/response.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { rejectedUnits } from '../spec/request-units.ts';
import { deliver, type Receiver } from '../upstreams/receiver.ts';
import type { CallContext } from './call-context.ts';
import { precheckCall } from './check-call.ts';
import { DeduplicatedCalls } from './deduplicate-batch.ts';
import { handleCall } from './handle-call.ts';
import { joinResponses } from './join-responses.ts';
import { rejectCall } from './reject-call.ts';

export interface BatchLimits {
  readonly maxItems: number;
  /** Maximum members and elements of one call. */
  readonly maxValues: number;
  readonly maxResponseBytes: number;
  /** Maximum calls in progress at once. */
  readonly concurrency: number;
}

type Item = Call | InvalidItem;
/** Undefined: the batch has only notifications. */
type BatchReceiver = Receiver<RpcResponse | undefined>;

export async function handleBatch(
  { items, isLarge }: Envelope,
  context: CallContext,
  limits: BatchLimits,
  receiver: BatchReceiver,
): Promise<void> {
  try {
    const deduplicated = await DeduplicatedCalls.among(items, context.network);
    // The same object, because subscriptions identify the message that opened them by its context.
    const batchContext: CallContext = Object.assign(context, {
      batchBudget: { bytes: limits.maxResponseBytes, maxBytes: limits.maxResponseBytes },
      ...(deduplicated && { deduplicated }),
    });
    new BatchInProgress(items, isLarge === true, batchContext, limits, receiver).begin();
  } catch (error) {
    receiver.failed(error);
  }
}

/** Checks parameters in a time slice of their own, because they may be megabytes. The call stores the result. */
export function precheck(item: Item, { network, access }: CallContext): Promise<void> | undefined {
  const method = 'rejection' in item ? undefined : network.methods.get(item.method);
  if (method !== undefined) precheckCall(method, item as Call, access);
  return timeSlicer.next();
}

/**
 * The calls of one batch. As many are in progress as the limit and the slots of the account permit: the first has the
 * slot of the request, each other one its own. They are begun in time slices. A call costs one object, and no promise.
 */
class BatchInProgress {
  readonly #items: readonly Item[];
  readonly #isLarge: boolean;
  readonly #context: CallContext;
  readonly #limits: BatchLimits;
  readonly #receiver: BatchReceiver;
  readonly #bodies: (Body | undefined)[];
  #begun = 0;
  #ended = 0;
  /** Including that of the request. */
  #slots = 1;
  #isBeginning = false;
  /** Bytes of the responses so far, those that are replaced by an error included. */
  #length = 0;
  #defect: unknown;

  constructor(
    items: readonly Item[],
    isLarge: boolean,
    context: CallContext,
    limits: BatchLimits,
    receiver: BatchReceiver,
  ) {
    this.#items = items;
    this.#isLarge = isLarge;
    this.#context = context;
    this.#limits = limits;
    this.#receiver = receiver;
    this.#bodies = items.map(() => undefined);
  }

  /** Begins as many calls as may be in progress now. A call that ends at once does so in this loop. */
  begin(): void {
    if (this.#isBeginning) return;
    this.#isBeginning = true;
    while (this.#hasSlot()) {
      const pause =
        timeSlicer.next() ?? (this.#isLarge ? precheck(this.#items[this.#begun] as Item, this.#context) : undefined);
      if (pause !== undefined) {
        void this.#beginAfter(pause);
        return;
      }
      const index = this.#begun++;
      try {
        this.#handle(index);
      } catch (error) {
        this.#defect = error;
        this.end(index, undefined);
      }
    }
    this.#isBeginning = false;
    this.#releaseSlots();
    if (this.#ended === this.#items.length) deliver(this.#response(), this.#receiver);
  }

  async #beginAfter(pause: Promise<void>): Promise<void> {
    await pause;
    this.#isBeginning = false;
    this.begin();
  }

  #hasSlot(): boolean {
    if (this.#begun === this.#items.length) return false;
    return this.#begun - this.#ended < this.#slots || this.#takeSlot();
  }

  #takeSlot(): boolean {
    const { share } = this.#context.access;
    if (this.#slots >= this.#limits.concurrency || !share.requests.tryEnter(share)) return false;
    this.#slots++;
    return true;
  }

  /** When all calls have begun, a slot is released with each one that ends. */
  #releaseSlots(): void {
    const { share } = this.#context.access;
    const inProgress = this.#items.length - this.#ended;
    for (; this.#begun === this.#items.length && this.#slots > Math.max(1, inProgress); this.#slots--)
      share.requests.leave(share);
  }

  #handle(index: number): void {
    const item = this.#items[index] as Item;
    const context = this.#context;
    const { maxResponseBytes } = this.#limits;
    if (this.#length > maxResponseBytes)
      this.end(index, rejectCall(item.id, batchBytesRejection(maxResponseBytes), context));
    else if ('rejection' in item) this.end(index, rejectCall(item.id, item.rejection, context, rejectedUnits));
    else handleCall(item, context, new BatchItem(this, index));
  }

  /** Any call in progress may be the one that exceeds the limit for the response. It is counted in metrics already. */
  end(index: number, response: RpcResponse | undefined): void {
    if (response !== undefined) {
      const { maxResponseBytes } = this.#limits;
      const item = this.#items[index] as Item;
      this.#length += byteLengthOf(response.body);
      const exceedsLimit = this.#length > maxResponseBytes && !hasEffect(item, this.#context);
      this.#bodies[index] = exceedsLimit
        ? rejectionResponse(item.id ?? 'null', batchBytesRejection(maxResponseBytes)).body
        : response.body;
    }
    this.#ended++;
    this.begin();
  }

  async #response(): Promise<RpcResponse | undefined> {
    // eslint-disable-next-line @typescript-eslint/only-throw-error -- passes on what a call threw
    if (this.#defect !== undefined) throw this.#defect;
    const bodies = this.#bodies.filter((body) => body !== undefined);
    if (bodies.length === 0) return undefined;
    const total = bodies.reduce((sum, body) => sum + byteLengthOf(body), 0);
    return { status: 200, body: await joinResponses(bodies, total) };
  }
}

/** Gets the response to one call of a batch. */
class BatchItem {
  readonly #batch: BatchInProgress;
  readonly #index: number;

  constructor(batch: BatchInProgress, index: number) {
    this.#batch = batch;
    this.#index = index;
  }

  succeeded(response: RpcResponse | undefined): void {
    this.#batch.end(this.#index, response);
  }
}

/** Whether a call has already sent a transaction or opened a subscription. Its short response is never dropped. */
function hasEffect(item: Item, { network }: CallContext): boolean {
  const method = 'rejection' in item ? undefined : network.methods.get(item.method);
  return method !== undefined && (method.handler?.by === 'socket' || method.spec.sends === true);
}
