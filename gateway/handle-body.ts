import { chargeCalls } from './charge-calls.ts';
import { bodyRefusalAnswer, refusalAnswer, withAllowance, type Answer } from './jsonrpc/answer.ts';
import {
  LARGE_BODY_BYTES,
  readEnvelope,
  readLargeEnvelope,
  type Call,
  type Envelope,
  type NotACall,
} from './jsonrpc/envelope.ts';
import { BatchTooLarge, RpcError } from './jsonrpc/errors.ts';
import { handleCall, objectionTo, type CallContext } from './handle-call.ts';
import { joinAnswers } from './join-answers.ts';
import type { KeyLimits } from './keys/key-access.ts';
import type { Shortage } from './limits/tally.ts';
import { RepeatedCalls } from './repeated-calls.ts';
import { slices } from './slices.ts';

/** What a refusal needs to know of a call. */
type Refusing = Pick<CallContext, 'network' | 'access' | 'note'>;
type Answering = Promise<Answer | undefined> | Answer | undefined;

export interface BatchLimits {
  readonly maxItems: number;
  readonly maxAnswerBytes: number;
  /** Calls under way at once. */
  readonly concurrency: number;
}

/**
 * What a caller sent at once, a call or a batch, to what it is told. Undefined: there were notifications only.
 * @throws RpcError (or rejects with it) when nothing in it can be answered on its own
 */
export function handleBody(body: Buffer, context: CallContext, limits: BatchLimits): Answering {
  return body.length > LARGE_BODY_BYTES
    ? handleLarge(body, context, limits)
    : handleCharged(readEnvelope(body.toString('utf8'), limits.maxItems), context, limits);
}

async function handleLarge(body: Buffer, context: CallContext, limits: BatchLimits): Promise<Answer | undefined> {
  return handleCharged(await readLarge(body, context, limits), context, limits);
}

function handleCharged(envelope: Envelope, context: CallContext, limits: BatchLimits): Answering {
  context.note?.asks(envelope, context.network.methods);
  const { limits: keyLimits } = context.access;
  return keyLimits?.isCharged !== true
    ? handleEnvelope(envelope, context, limits)
    : handleWithin(keyLimits, envelope, context, limits);
}

async function readLarge(body: Buffer, context: CallContext, { maxItems }: BatchLimits): Promise<Envelope> {
  const envelope = await readLargeEnvelope(body, maxItems, slices);
  const [first] = envelope.items;
  if (envelope.isBatch || first === undefined) return envelope;
  await slices.next();
  await check(first, context);
  return envelope;
}

/** Looks at the parameters in a step of its own, for they may be megabytes: what is found is kept with the call. */
function check(item: Call | NotACall, { network, access }: CallContext): Promise<void> | undefined {
  const method = 'refusal' in item ? undefined : network.methods.get(item.method);
  if (method !== undefined) objectionTo(method, item as Call, access);
  return slices.next();
}

/** Refuses all that was sent at once, each call under its own id. */
export function refuseBody(
  body: Buffer,
  refusal: RpcError,
  context: Refusing,
  { maxItems }: BatchLimits,
): Answer | undefined {
  try {
    return refuseAll(readEnvelope(body.toString('utf8'), maxItems), refusal, context);
  } catch (error) {
    return bodyRefusalAnswer(error instanceof BatchTooLarge ? error : refusal);
  }
}

function handleEnvelope(envelope: Envelope, context: CallContext, limits: BatchLimits): Answering {
  const [first] = envelope.items;
  return envelope.isBatch || first === undefined ? handleBatch(envelope, context, limits) : handleItem(first, context);
}

/** All of it is charged at once, and refused at once when there is not enough: a batch with an error for each id. */
async function handleWithin(
  keyLimits: KeyLimits,
  envelope: Envelope,
  context: CallContext,
  limits: BatchLimits,
): Promise<Answer | undefined> {
  const charged = chargeCalls(envelope.items, keyLimits, context);
  const verdict = charged instanceof Promise ? await charged : charged;
  if (verdict === undefined) return handleEnvelope(envelope, context, limits);
  const { shortage, allowance } = verdict;
  const answer =
    shortage === undefined
      ? await handleEnvelope(envelope, context, limits)
      : refuseAll(envelope, refusalFor(shortage), context);
  return answer === undefined ? undefined : withAllowance(answer, allowance);
}

function refusalFor({ reason, waitS }: Shortage): RpcError {
  if (waitS !== undefined) return new RpcError(reason, undefined, { retryAfterS: waitS });
  const { message } = new RpcError(reason);
  return new RpcError(reason, `${message}: what was sent at once is more than the limit ever allows`);
}

function refuseAll({ isBatch, items }: Envelope, refusal: RpcError, context: Refusing): Answer | undefined {
  const answers = items.map(({ id }) => refuse(id, refusal, context)).filter((answer) => answer !== undefined);
  const [first] = answers;
  if (first === undefined || !isBatch) return first;
  return { ...first, body: `[${answers.map(({ body }) => body).join(',')}]` };
}

async function handleBatch(
  { items, isLarge }: Envelope,
  context: CallContext,
  limits: BatchLimits,
): Promise<Answer | undefined> {
  const repeated = await RepeatedCalls.among(items, context.network);
  // The same object: by it, subscriptions know what they were opened by.
  const own: CallContext = Object.assign(context, {
    room: { bytes: limits.maxAnswerBytes },
    ...(repeated && { repeated }),
  });
  const answers: (string | Buffer | undefined)[] = items.map(() => undefined);
  let next = 0;
  let length = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      let pause = slices.next();
      if (pause !== undefined) await pause;
      const item = items[index] as Call | NotACall;
      if (isLarge === true) {
        pause = check(item, own);
        if (pause !== undefined) await pause;
      }
      const isFull = length > limits.maxAnswerBytes;
      const answer = isFull ? refuse(item.id, new RpcError('answer-too-large'), own) : await handleItem(item, own);
      length += lengthOf(answer);
      // Each of those under way may be the one too many. It was counted.
      const isTooMuch = answer !== undefined && length > limits.maxAnswerBytes && !hasEffect(item, own);
      answers[index] = isTooMuch
        ? refusalAnswer(item.id ?? 'null', new RpcError('answer-too-large')).body
        : answer?.body;
    }
  };
  await Promise.all(Array.from({ length: Math.min(limits.concurrency, items.length) }, work));
  const bodies = answers.filter((body) => body !== undefined);
  if (bodies.length === 0) return undefined;
  const total = bodies.reduce((sum, body) => sum + Buffer.byteLength(body), 0);
  return { status: 200, body: await joinAnswers(bodies, total) };
}

function lengthOf(answer: Answer | undefined): number {
  return answer === undefined ? 0 : Buffer.byteLength(answer.body);
}

function handleItem(item: Call | NotACall, context: CallContext): Answering {
  return 'refusal' in item ? refuse(item.id, item.refusal, context) : handleCall(item, context);
}

/** A transaction is sent by then, a subscription open: the caller is told of it in any case, in few bytes. */
function hasEffect(item: Call | NotACall, { network }: CallContext): boolean {
  const method = 'refusal' in item ? undefined : network.methods.get(item.method);
  return method !== undefined && (method.isOfSocket || method.spec.sends === true);
}

/** What never became a call under way is counted all the same. */
function refuse(
  id: string | undefined,
  refusal: RpcError,
  { network: { otherMethods }, access, note }: Refusing,
): Answer | undefined {
  const answer = id === undefined ? undefined : refusalAnswer(id, refusal);
  otherMethods.meter.count(refusal.reason);
  note?.ended(refusal.reason);
  otherMethods.usage.add(access.record.id, 0, true, answer?.body.length ?? 0);
  return answer;
}
