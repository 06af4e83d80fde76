import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { BufferList, buffersOf, byteLengthOf, type Body } from '../jsonrpc/buffer-list.ts';
import type { InvalidItem } from '../jsonrpc/envelope.ts';
import { batchBytesRejection } from '../jsonrpc/errors.ts';
import { rejectionResponse, type RpcResponse } from '../jsonrpc/response.ts';
import { Call, type CallContext } from './call.ts';
import { checkOnce } from './check.ts';
import { findDuplicates } from './deduplicate.ts';
import { begun } from './events.ts';
import { handleCall } from './handle-call.ts';
import { rejectRequest, respondWithError } from './respond.ts';

export interface BatchLimits {
  readonly maxItems: number;
  /** Maximum members and elements of one call. */
  readonly maxValues: number;
  readonly maxResponseBytes: number;
  /** Maximum calls in progress at once. */
  readonly concurrency: number;
}

type BatchItem = Call | InvalidItem;

/**
 * Handles the calls of one batch. As many are in progress as the limit and the slots of the account permit: the first has
 * the slot of the request, each other one its own. After their first 0.5 ms, further ones begin in the turns of the key.
 * @param isLarge a single call may be so large that it is checked in a time slice of its own
 * @returns undefined: the batch has only notifications
 */
export async function handleBatch(
  items: readonly BatchItem[],
  isLarge: boolean,
  context: CallContext,
  { maxResponseBytes, concurrency }: BatchLimits,
): Promise<RpcResponse | undefined> {
  const duplicates = await findDuplicates(items);
  // The same object, because subscriptions identify the message that opened them by its context.
  Object.assign(context, {
    batchBudget: { bytes: maxResponseBytes, maxBytes: maxResponseBytes },
    ...(duplicates && { duplicates }),
  });
  const { network, access } = context;
  const { account, record, token } = access;
  const { batch: units } = network.otherUnits;
  if (units > 0) network.otherMethods.usage.add(record.id, units, undefined, 0, token !== undefined);
  const bodies: (Body | undefined)[] = items.map(() => undefined);
  /** Bytes of the responses so far, those that are replaced by an error included. */
  let length = 0;
  let defect: unknown;

  /** Any call in progress may be the one that exceeds the limit for the response. It is counted in metrics already. */
  const add = (index: number, item: BatchItem, response: RpcResponse | undefined): void => {
    if (response === undefined) return;
    length += byteLengthOf(response.body);
    bodies[index] =
      length > maxResponseBytes && !hasEffect(item)
        ? rejectionResponse(item.id ?? 'null', batchBytesRejection(maxResponseBytes)).body
        : response.body;
  };
  const handle = (item: BatchItem): ReturnType<typeof handleCall> => {
    if (length > maxResponseBytes) return rejectRequest(item.id, batchBytesRejection(maxResponseBytes), context);
    // Also the calls that need no upstream, which have nothing else that ends them.
    if (context.caller.isCancelled && item instanceof Call) {
      begun(item, context);
      return respondWithError(item, context, context.caller.reason);
    }
    return item instanceof Call
      ? handleCall(item, context)
      : rejectRequest(item.id, item.rejection, context, network.otherUnits.rejected);
  };

  let inProgress = 0;
  let callEnded: (() => void) | undefined;
  const untilCallEnded = (): Promise<void> =>
    new Promise((resolve) => {
      callEnded = resolve;
    });
  const finish = async (index: number, item: BatchItem, response: Promise<RpcResponse | undefined>): Promise<void> => {
    try {
      add(index, item, await response);
    } catch (error) {
      defect ??= error;
    }
    // The slot of the request is for the last one.
    if (--inProgress > 0) account.requests.leave(account);
    callEnded?.();
  };

  const steps = new OwnedSteps(account.payer.name);
  for (const [index, item] of items.entries()) {
    let hasSlot = false;
    try {
      const pause = steps.afterSlice();
      if (pause !== undefined) await pause;
      if (isLarge && item instanceof Call) {
        checkOnce(item, context.access);
        await steps.next();
      }
      while (inProgress > 0) {
        hasSlot = inProgress < concurrency && account.requests.tryEnter(account);
        if (hasSlot) break;
        steps.charge();
        await untilCallEnded();
        steps.resumed();
        await steps.next();
      }
      // An earlier call may have failed meanwhile.
      const response = defect === undefined ? handle(item) : undefined;
      if (response instanceof Promise) {
        inProgress++;
        hasSlot = false;
        void finish(index, item, response);
      } else add(index, item, response);
    } catch (error) {
      defect ??= error;
    }
    if (hasSlot) account.requests.leave(account);
    if (defect !== undefined) break;
  }
  steps.charge();
  while (inProgress > 0) await untilCallEnded();
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- passes on what a call threw
  if (defect !== undefined) throw defect;
  return joinBodies(
    bodies.filter((body) => body !== undefined),
    account.payer.name,
  );
}

/** Whether a call has already sent a transaction or opened a subscription. Its short response is never dropped. */
function hasEffect(item: BatchItem): boolean {
  return item instanceof Call && (item.served?.handler?.by === 'socket' || item.method.sends === true);
}

/** Bytes up to which one string is built, which is fastest. */
const SMALL_BYTES = 100_000;
/** Texts that are encoded at once: about 0.1 ms. */
const STEP_CHARS = 500_000;

/** Joins the responses to the calls of a batch into the response to the batch. Large results are not copied. */
async function joinBodies(bodies: readonly Body[], owner: string): Promise<RpcResponse | undefined> {
  if (bodies.length === 0) return undefined;
  const bytes = bodies.reduce((sum, body) => sum + byteLengthOf(body), 0);
  if (bytes <= SMALL_BYTES) return { status: 200, body: `[${bodies.map((body) => body.toString()).join()}]` };
  const buffers: Buffer[] = [];
  const steps = new OwnedSteps(owner);
  let text = '[';
  for (const [index, body] of bodies.entries()) {
    if (index > 0) text += ',';
    if (typeof body === 'string') text += body;
    else {
      buffers.push(Buffer.from(text), ...buffersOf(body));
      text = '';
    }
    if (text.length < STEP_CHARS) continue;
    // Node would encode a string of many megabytes in one step when it is sent.
    buffers.push(Buffer.from(text));
    text = '';
    await steps.afterSlice();
  }
  buffers.push(Buffer.from(`${text}]`));
  steps.charge();
  return { status: 200, body: new BufferList(buffers) };
}
