import { chargeCalls } from './charge-calls.ts';
import { refusalAnswer, withAllowance, type Answer } from './jsonrpc/answer.ts';
import {
  isLargeBatch,
  readEnvelope,
  readLargeBatch,
  type Call,
  type Envelope,
  type NotACall,
} from './jsonrpc/envelope.ts';
import { RpcError } from './jsonrpc/errors.ts';
import { handleCall, type CallContext } from './handle-call.ts';
import { joinAnswers } from './join-answers.ts';
import type { KeyLimits } from './keys/key-access.ts';
import type { Shortage } from './limits/tally.ts';
import { RepeatedCalls } from './repeated-calls.ts';
import { Slices } from './slices.ts';

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
 * @throws RpcError when nothing in it can be answered on its own
 */
export async function handleBody(text: string, context: CallContext, limits: BatchLimits): Promise<Answer | undefined> {
  const envelope = isLargeBatch(text)
    ? await readLargeBatch(text, limits.maxItems, new Slices())
    : readEnvelope(text, limits.maxItems);
  context.note?.asks(envelope, context.network.methods);
  const { limits: keyLimits } = context.access;
  return keyLimits?.isCharged !== true
    ? handleEnvelope(envelope, context, limits)
    : handleWithin(keyLimits, envelope, context, limits);
}

/** Refuses all that was sent at once, each call under its own id. */
export function refuseBody(
  text: string,
  refusal: RpcError,
  context: Refusing,
  { maxItems }: BatchLimits,
): Answer | undefined {
  try {
    return refuseAll(readEnvelope(text, maxItems), refusal, context);
  } catch {
    return refusalAnswer('null', refusal);
  }
}

function handleEnvelope({ isBatch, items }: Envelope, context: CallContext, limits: BatchLimits): Answering {
  const [first] = items;
  return isBatch || first === undefined ? handleBatch(items, context, limits) : handleItem(first, context);
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
  items: readonly (Call | NotACall)[],
  context: CallContext,
  limits: BatchLimits,
): Promise<Answer | undefined> {
  const slices = new Slices();
  const repeated = await RepeatedCalls.among(items, context.network, slices);
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
      await slices.next();
      const item = items[index] as Call | NotACall;
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
  return { status: 200, body: await joinAnswers(bodies, total, slices) };
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
