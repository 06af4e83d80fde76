import { OwnedSteps } from '../event-loop/owned-steps.ts';
import { turnBudget } from '../event-loop/turn-budget.ts';
import {
  LARGE_BODY_BYTES,
  readEnvelope,
  readLargeEnvelope,
  type Envelope,
  type InvalidItem,
} from '../jsonrpc/envelope.ts';
import { BatchTooLarge, type RpcError } from '../jsonrpc/errors.ts';
import { bodyRejectionResponse, withAllowance, type RpcResponse } from '../jsonrpc/response.ts';
import type { ChargeOutcome } from '../limits/account-units.ts';
import type { Shortage } from '../limits/limit-state.ts';
import { Call, type CallContext } from './call.ts';
import {
  chargeCalls,
  chargeRejected,
  exhaustedLimit,
  hasInfuraErrors,
  limitRejection,
  type ChargeContext,
} from './charge.ts';
import { checkOnce } from './check.ts';
import { handleBatch, type BatchLimits } from './handle-batch.ts';
import { handleCall, type MaybePromise } from './handle-call.ts';
import { rejectRequest, type RejectionContext } from './respond.ts';

/** Response to a body; undefined: it has only notifications. */
type BodyResponse = MaybePromise<RpcResponse | undefined>;

/** The calls of one body, in order. */
interface Calls extends Pick<Envelope, 'isBatch' | 'isLarge'> {
  readonly items: readonly (Call | InvalidItem)[];
}

/**
 * Handles one body: a call or a batch. The response is there at once, if no upstream is needed.
 * @throws RpcError (or rejects with it) if the body is rejected as a whole
 */
export function handleBody(body: Buffer, context: CallContext, limits: BatchLimits): BodyResponse {
  if (body.length > LARGE_BODY_BYTES) return handleLargeBody(body, context, limits);
  let envelope: Envelope;
  try {
    envelope = readEnvelope(body, limits.maxItems, limits.maxValues);
  } catch (error) {
    chargeRejected(context);
    throw error;
  }
  return handleCalls(callsOf(envelope, context), context, limits);
}

async function handleLargeBody(
  body: Buffer,
  context: CallContext,
  limits: BatchLimits,
): Promise<RpcResponse | undefined> {
  // Its ids are unknown. Over HTTP, clients match a response of their own by its request.
  const shortage = context.subscriptions === undefined ? exhaustedLimit(context) : undefined;
  if (shortage !== undefined) throw limitRejection([], shortage, context);
  return handleCalls(await readLargeBody(body, context, limits), context, limits);
}

async function readLargeBody(body: Buffer, context: CallContext, { maxItems, maxValues }: BatchLimits): Promise<Calls> {
  const steps = new OwnedSteps(context.access.account.payer.name);
  try {
    const calls = callsOf(await readLargeEnvelope(body, maxItems, steps, maxValues), context);
    const [first] = calls.items;
    if (calls.isBatch || !(first instanceof Call)) return calls;
    // In steps of their own, because the parameters may be megabytes.
    await steps.next();
    checkOnce(first, context.access);
    await steps.next();
    return calls;
  } catch (error) {
    chargeRejected(context);
    throw error;
  } finally {
    steps.charge();
  }
}

function callsOf(envelope: Envelope, context: CallContext): Calls {
  context.logEntry?.setCalls(envelope, context.network.methods);
  const { isBatch, isLarge } = envelope;
  const items = envelope.items.map((item) => ('rejection' in item ? item : Call.of(item, context)));
  return isLarge === true ? { isBatch, isLarge, items } : { isBatch, items };
}

/** Charges the key for the whole body at once: without a promise, if the key is far from its limits. */
function handleCalls(calls: Calls, context: CallContext, limits: BatchLimits): BodyResponse {
  const { limits: keyLimits, account } = context.access;
  if (keyLimits?.isCharged !== true) return respondTo(calls, context, limits);
  const charge = chargeCalls(calls.items, calls.isBatch, keyLimits, context);
  return charge instanceof Promise
    ? charge.then((outcome) => turnBudget.run(account.payer.name, () => handleCharged(calls, context, limits, outcome)))
    : handleCharged(calls, context, limits, charge);
}

/** A body over the limit is rejected as a whole, a batch with an error for each id. */
function handleCharged(
  calls: Calls,
  context: CallContext,
  limits: BatchLimits,
  { shortage, allowance }: ChargeOutcome,
): BodyResponse {
  if (shortage !== undefined && isUsedUp(calls, shortage) && hasInfuraErrors(context))
    context.subscriptions?.quotaUsedUp(shortage.scope === 'all');
  const response =
    shortage === undefined
      ? respondTo(calls, context, limits)
      : // The printers have it already, with the methods.
        rejectAll(calls, limitRejection(calls.items, shortage, context), { ...context, printers: [] });
  const withLimit = (one: RpcResponse | undefined): RpcResponse | undefined => one && withAllowance(one, allowance);
  return response instanceof Promise ? response.then(withLimit) : withLimit(response);
}

/**
 * Whether not even the cheapest call of the method fits into what is left of a quota. Neither a batch nor a call that costs more
 * than the whole quota shows that.
 */
function isUsedUp({ isBatch, items: [first] }: Calls, { reason, waitS, units, available }: Shortage): boolean {
  if (isBatch || waitS === undefined || !reason.endsWith('-quota')) return false;
  const least = first instanceof Call ? first.served?.unitsOf([]) : undefined;
  return available < Math.min(units, least ?? units);
}

function respondTo({ isBatch, isLarge, items }: Calls, context: CallContext, limits: BatchLimits): BodyResponse {
  const [first] = items;
  if (isBatch || first === undefined) return handleBatch(items, isLarge === true, context, limits);
  return first instanceof Call
    ? handleCall(first, context)
    : rejectRequest(first.id, first.rejection, context, context.network.otherUnits.rejected);
}

/** Rejects every call of a body, each under its own id. A large body is not parsed: its ids are unknown. */
export function rejectBody(
  body: Buffer,
  rejection: RpcError,
  context: RejectionContext & ChargeContext,
  { maxItems, maxValues }: BatchLimits,
): RpcResponse | undefined {
  chargeRejected(context);
  if (body.length > LARGE_BODY_BYTES) return rejectRequest('null', rejection, context);
  try {
    return turnBudget.run(context.access.account.payer.name, () =>
      rejectAll(readEnvelope(body, maxItems, maxValues), rejection, context),
    );
  } catch (error) {
    return bodyRejectionResponse(error instanceof BatchTooLarge ? error : rejection);
  }
}

function rejectAll(
  { isBatch, items }: { readonly isBatch: boolean; readonly items: readonly { readonly id: string | undefined }[] },
  rejection: RpcError,
  context: RejectionContext,
): RpcResponse | undefined {
  const responses = items
    .map(({ id }) => rejectRequest(id, rejection, context))
    .filter((response) => response !== undefined);
  const [first] = responses;
  if (first === undefined || !isBatch) return first;
  return { ...first, body: `[${responses.map(({ body }) => body).join(',')}]` };
}
