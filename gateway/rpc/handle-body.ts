import { byteLengthOf, type Body } from '../jsonrpc/buffer-list.ts';
import { chargeCalls } from './charge.ts';
import { bodyRejectionResponse, rejectionResponse, withAllowance, type RpcResponse } from '../jsonrpc/response.ts';
import {
  LARGE_BODY_BYTES,
  readEnvelope,
  readLargeEnvelope,
  type Call,
  type Envelope,
  type InvalidItem,
} from '../jsonrpc/envelope.ts';
import { batchBytesRejection, BatchTooLarge, type RpcError } from '../jsonrpc/errors.ts';
import { precheckCall } from './check-call.ts';
import type { CallContext } from './call-context.ts';
import { handleCall, responseTo } from './handle-call.ts';
import { joinResponses } from './join-responses.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { limitRejection } from './limit-rejection.ts';
import { DeduplicatedCalls } from './deduplicate-batch.ts';
import { rejectedUnits } from '../spec/request-units.ts';
import { timeSlicer } from '../jsonrpc/time-slices.ts';
import { deliver, promised, type Receiver } from '../upstreams/receiver.ts';

/** The parts of a call's context that a rejection needs. */
type RejectionContext = Pick<CallContext, 'network' | 'access' | 'logEntry'>;
/** Gets the response to a body. Undefined: the body has only notifications. */
type BodyReceiver = Receiver<RpcResponse | undefined>;

export interface BatchLimits {
  readonly maxItems: number;
  readonly maxResponseBytes: number;
  /** Maximum calls in progress at once. */
  readonly concurrency: number;
}

/**
 * Handles one body: a call or a batch.
 * @param receiver gets the response, at once if no upstream is needed; RpcError if the body is rejected as a whole
 * @throws RpcError as well, before anything else is done
 */
export function handleBody(body: Buffer, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  if (body.length > LARGE_BODY_BYTES) deliver(handleLargeBody(body, context, limits), receiver);
  else handleParsed(readEnvelope(body.toString('utf8'), limits.maxItems), context, limits, receiver);
}

async function handleLargeBody(
  body: Buffer,
  context: CallContext,
  limits: BatchLimits,
): Promise<RpcResponse | undefined> {
  const envelope = await readLargeBody(body, context, limits);
  return promised((receiver) => {
    handleParsed(envelope, context, limits, receiver);
  });
}

function handleParsed(envelope: Envelope, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  context.logEntry?.setCalls(envelope, context.network.methods);
  const { limits: keyLimits } = context.access;
  if (keyLimits?.isCharged !== true) handleEnvelope(envelope, context, limits, receiver);
  else deliver(handleCharged(keyLimits, envelope, context, limits), receiver);
}

async function readLargeBody(body: Buffer, context: CallContext, { maxItems }: BatchLimits): Promise<Envelope> {
  const envelope = await readLargeEnvelope(body, maxItems, timeSlicer);
  const [first] = envelope.items;
  if (envelope.isBatch || first === undefined) return envelope;
  await timeSlicer.next();
  await precheck(first, context);
  return envelope;
}

/** Checks parameters in a time slice of their own, because they may be megabytes. The call stores the result. */
function precheck(item: Call | InvalidItem, { network, access }: CallContext): Promise<void> | undefined {
  const method = 'rejection' in item ? undefined : network.methods.get(item.method);
  if (method !== undefined) precheckCall(method, item as Call, access);
  return timeSlicer.next();
}

/** Rejects every call of a body, each under its own id. */
export function rejectBody(
  body: Buffer,
  rejection: RpcError,
  context: RejectionContext,
  { maxItems }: BatchLimits,
): RpcResponse | undefined {
  try {
    return rejectAll(readEnvelope(body.toString('utf8'), maxItems), rejection, context);
  } catch (error) {
    return bodyRejectionResponse(error instanceof BatchTooLarge ? error : rejection);
  }
}

function handleEnvelope(envelope: Envelope, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  const first = envelope.items[0];
  if (envelope.isBatch || first === undefined) deliver(handleBatch(envelope, context, limits), receiver);
  else if ('rejection' in first) receiver.succeeded(rejectCall(first.id, first.rejection, context, rejectedUnits));
  else handleCall(first, context, receiver);
}

/** Charges the whole body at once. A body over the limit is rejected as a whole, a batch with an error for each id. */
async function handleCharged(
  keyLimits: KeyLimits,
  envelope: Envelope,
  context: CallContext,
  limits: BatchLimits,
): Promise<RpcResponse | undefined> {
  const charge = chargeCalls(envelope.items, keyLimits, context);
  const { shortage, allowance } = charge instanceof Promise ? await charge : charge;
  const response =
    shortage === undefined
      ? await promised<RpcResponse | undefined>((receiver) => {
          handleEnvelope(envelope, context, limits, receiver);
        })
      : rejectAll(envelope, limitRejection(envelope.items, shortage, context), context);
  return response === undefined ? undefined : withAllowance(response, allowance);
}

function rejectAll(
  { isBatch, items }: Envelope,
  rejection: RpcError,
  context: RejectionContext,
): RpcResponse | undefined {
  const responses = items
    .map(({ id }) => rejectCall(id, rejection, context))
    .filter((response) => response !== undefined);
  const [first] = responses;
  if (first === undefined || !isBatch) return first;
  return { ...first, body: `[${responses.map(({ body }) => body).join(',')}]` };
}

async function handleBatch(
  { items, isLarge }: Envelope,
  context: CallContext,
  limits: BatchLimits,
): Promise<RpcResponse | undefined> {
  const deduplicated = await DeduplicatedCalls.among(items, context.network);
  // The same object, because subscriptions identify the message that opened them by its context.
  const batchContext: CallContext = Object.assign(context, {
    batchBudget: { bytes: limits.maxResponseBytes, maxBytes: limits.maxResponseBytes },
    ...(deduplicated && { deduplicated }),
  });
  const responses: (Body | undefined)[] = items.map(() => undefined);
  let next = 0;
  let length = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      let pause = timeSlicer.next();
      if (pause !== undefined) await pause;
      const item = items[index] as Call | InvalidItem;
      if (isLarge === true) {
        pause = precheck(item, batchContext);
        if (pause !== undefined) await pause;
      }
      const isFull = length > limits.maxResponseBytes;
      const response = isFull
        ? rejectCall(item.id, batchBytesRejection(limits.maxResponseBytes), batchContext)
        : await handleItem(item, batchContext);
      if (response !== undefined) length += byteLengthOf(response.body);
      // Any call in progress may be the one that exceeds the limit. It is counted in metrics already.
      const exceedsLimit = response !== undefined && length > limits.maxResponseBytes && !hasEffect(item, batchContext);
      responses[index] = exceedsLimit
        ? rejectionResponse(item.id ?? 'null', batchBytesRejection(limits.maxResponseBytes)).body
        : response?.body;
      addWorkers();
    }
  };
  const { share } = context.access;
  const others: Promise<void>[] = [];
  let defect: unknown;
  // The first worker has the slot of the request, each other one its own. It ends when no call is left.
  const addWorkers = (): void => {
    while (others.length < limits.concurrency - 1 && next < items.length && share.requests.tryEnter(share)) {
      const ended = work().catch((error: unknown) => (defect = error));
      others.push(
        ended.then(() => {
          share.requests.leave(share);
        }),
      );
    }
  };
  const first = work();
  addWorkers();
  await first;
  await Promise.all(others);
  // eslint-disable-next-line @typescript-eslint/only-throw-error -- passes on what a worker threw
  if (defect !== undefined) throw defect;
  const bodies = responses.filter((body) => body !== undefined);
  if (bodies.length === 0) return undefined;
  const total = bodies.reduce((sum, body) => sum + byteLengthOf(body), 0);
  return { status: 200, body: await joinResponses(bodies, total) };
}

function handleItem(item: Call | InvalidItem, context: CallContext): ReturnType<typeof responseTo> {
  return 'rejection' in item ? rejectCall(item.id, item.rejection, context, rejectedUnits) : responseTo(item, context);
}

/** Whether a call has already sent a transaction or opened a subscription. Its short response is never dropped. */
function hasEffect(item: Call | InvalidItem, { network }: CallContext): boolean {
  const method = 'rejection' in item ? undefined : network.methods.get(item.method);
  return method !== undefined && (method.handler?.by === 'socket' || method.spec.sends === true);
}

/** Builds the response to a call that is rejected before `handleCall`, and counts it in metrics and usage. */
function rejectCall(
  id: string | undefined,
  rejection: RpcError,
  { network: { otherMethods }, access, logEntry }: RejectionContext,
  units = 0,
): RpcResponse | undefined {
  const response = id === undefined ? undefined : rejectionResponse(id, rejection);
  otherMethods.metric.count(rejection.reason);
  logEntry?.callEnded(rejection.reason);
  otherMethods.usage.add(access.record.id, units, true, response?.body.length ?? 0);
  return response;
}
