import { chargeCalls, chargeRejected, exhaustedLimit } from './charge.ts';
import type { ChargeOutcome } from '../limits/account.ts';
import { bodyRejectionResponse, withAllowance, type RpcResponse } from '../jsonrpc/response.ts';
import { LARGE_BODY_BYTES, readEnvelope, readLargeEnvelope, type Envelope } from '../jsonrpc/envelope.ts';
import { BatchTooLarge, type RpcError } from '../jsonrpc/errors.ts';
import type { CallContext } from './call-context.ts';
import { handleBatch, precheck, type BatchLimits } from './handle-batch.ts';
import { handleCall } from './handle-call.ts';
import { rejectCall, type RejectionContext } from './reject-call.ts';
import type { KeyLimits } from '../auth/permissions/key-limits.ts';
import { limitRejection } from './limit-rejection.ts';
import { rejectedUnits } from '../spec/request-units.ts';
import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { turnBudget } from '../event-loop/turn-budget.ts';
import { deliver, promised, type Receiver } from '../upstreams/receiver.ts';

/** Gets the response to a body. Undefined: the body has only notifications. */
type BodyReceiver = Receiver<RpcResponse | undefined>;

/**
 * Handles one body: a call or a batch.
 * @param receiver gets the response, at once if no upstream is needed; RpcError if the body is rejected as a whole
 * @throws RpcError as well, before anything else is done
 */
export function handleBody(body: Buffer, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  if (body.length > LARGE_BODY_BYTES) deliver(handleLargeBody(body, context, limits), receiver);
  else handleParsed(readSmallBody(body, context, limits), context, limits, receiver);
}

function readSmallBody(body: Buffer, context: CallContext, { maxItems, maxValues }: BatchLimits): Envelope {
  try {
    return readEnvelope(body.toString('utf8'), maxItems, maxValues);
  } catch (error) {
    chargeRejected(context);
    throw error;
  }
}

/** @throws RpcError (rejects with it) */
async function handleLargeBody(
  body: Buffer,
  context: CallContext,
  limits: BatchLimits,
): Promise<RpcResponse | undefined> {
  // Its ids are unknown. Over HTTP, clients match a response of their own by its request.
  const shortage = context.subscriptions === undefined ? exhaustedLimit(context) : undefined;
  if (shortage !== undefined) throw limitRejection([], shortage, context);
  let envelope: Envelope;
  try {
    envelope = await readLargeBody(body, context, limits);
  } catch (error) {
    chargeRejected(context);
    throw error;
  }
  return promised((receiver) => {
    handleParsed(envelope, context, limits, receiver);
  });
}

function handleParsed(envelope: Envelope, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  context.logEntry?.setCalls(envelope, context.network.methods);
  const { limits: keyLimits } = context.access;
  if (keyLimits?.isCharged !== true) handleEnvelope(envelope, context, limits, receiver);
  else handleCharged(keyLimits, envelope, context, limits, receiver);
}

async function readLargeBody(
  body: Buffer,
  context: CallContext,
  { maxItems, maxValues }: BatchLimits,
): Promise<Envelope> {
  const steps = new OwnedSteps(context.access.share.holder.name);
  try {
    const envelope = await readLargeEnvelope(body, maxItems, steps, maxValues);
    const [first] = envelope.items;
    if (envelope.isBatch || first === undefined) return envelope;
    await steps.next();
    void precheck(first, context);
    await steps.next();
    return envelope;
  } finally {
    steps.charge();
  }
}

/** Rejects every call of a body, each under its own id. */
export function rejectBody(
  body: Buffer,
  rejection: RpcError,
  context: RejectionContext,
  { maxItems, maxValues }: BatchLimits,
): RpcResponse | undefined {
  try {
    return turnBudget.run(context.access.share.holder.name, () =>
      rejectAll(readEnvelope(body.toString('utf8'), maxItems, maxValues), rejection, context),
    );
  } catch (error) {
    return bodyRejectionResponse(error instanceof BatchTooLarge ? error : rejection);
  }
}

function handleEnvelope(envelope: Envelope, context: CallContext, limits: BatchLimits, receiver: BodyReceiver): void {
  const first = envelope.items[0];
  if (envelope.isBatch || first === undefined) void handleBatch(envelope, context, limits, receiver);
  else if ('rejection' in first) receiver.succeeded(rejectCall(first.id, first.rejection, context, rejectedUnits));
  else handleCall(first, context, receiver);
}

/**
 * Charges the whole body at once: without Redis, if the key has units left of its lease. A body over the limit is rejected as a
 * whole, a batch with an error for each id.
 */
function handleCharged(
  keyLimits: KeyLimits,
  envelope: Envelope,
  context: CallContext,
  limits: BatchLimits,
  receiver: BodyReceiver,
): void {
  const charge = chargeCalls(envelope.items, keyLimits, context);
  if (charge instanceof Promise) void handleAfter(charge, envelope, context, limits, receiver);
  else handleDecided(charge, envelope, context, limits, receiver);
}

async function handleAfter(
  charge: Promise<ChargeOutcome>,
  envelope: Envelope,
  context: CallContext,
  limits: BatchLimits,
  receiver: BodyReceiver,
): Promise<void> {
  try {
    handleDecided(await charge, envelope, context, limits, receiver);
  } catch (error) {
    receiver.failed(error);
  }
}

function handleDecided(
  { shortage, allowance }: ChargeOutcome,
  envelope: Envelope,
  context: CallContext,
  limits: BatchLimits,
  receiver: BodyReceiver,
): void {
  const withLimit = new AllowanceReceiver(receiver, allowance);
  if (shortage === undefined) handleEnvelope(envelope, context, limits, withLimit);
  else withLimit.succeeded(rejectAll(envelope, limitRejection(envelope.items, shortage, context), context));
}

/** Adds what remains of the key's limit to the response. */
class AllowanceReceiver implements BodyReceiver {
  readonly #receiver: BodyReceiver;
  readonly #allowance: RpcResponse['allowance'];

  constructor(receiver: BodyReceiver, allowance: RpcResponse['allowance']) {
    this.#receiver = receiver;
    this.#allowance = allowance;
  }

  succeeded(response: RpcResponse | undefined): void {
    this.#receiver.succeeded(response === undefined ? undefined : withAllowance(response, this.#allowance));
  }

  failed(error: unknown): void {
    this.#receiver.failed(error);
  }
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
