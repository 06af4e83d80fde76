import { refusalAnswer, type Answer } from './jsonrpc/answer.ts';
import { readEnvelope, type Call, type NotACall } from './jsonrpc/envelope.ts';
import { RpcError } from './jsonrpc/errors.ts';
import { handleCall, type CallContext } from './handle-call.ts';

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
  const { isBatch, items } = readEnvelope(text, limits.maxItems);
  const [first] = items;
  if (isBatch || first === undefined) return handleBatch(items, context, limits);
  return handleItem(first, context);
}

async function handleBatch(
  items: readonly (Call | NotACall)[],
  context: CallContext,
  limits: BatchLimits,
): Promise<Answer | undefined> {
  const answers: (string | undefined)[] = items.map(() => undefined);
  let next = 0;
  let length = 0;
  const work = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const item = items[index] as Call | NotACall;
      const answer = length < limits.maxAnswerBytes ? await handleItem(item, context) : tooLarge(item, context);
      length += answer?.body.length ?? 0;
      answers[index] = answer?.body.toString();
    }
  };
  await Promise.all(Array.from({ length: Math.min(limits.concurrency, items.length) }, work));
  const bodies = answers.filter((answer) => answer !== undefined);
  return bodies.length === 0 ? undefined : { status: 200, body: `[${bodies.join(',')}]` };
}

function handleItem(item: Call | NotACall, context: CallContext): Promise<Answer | undefined> | Answer | undefined {
  return 'refusal' in item ? refuse(item.id, item.refusal, context) : handleCall(item, context);
}

function tooLarge({ id }: Call | NotACall, context: CallContext): Answer | undefined {
  return refuse(id, new RpcError('answer-too-large'), context);
}

/** What never became a call under way is counted all the same. */
function refuse(id: string | undefined, refusal: RpcError, { network }: CallContext): Answer | undefined {
  network.otherMethods.count(refusal.reason);
  return id === undefined ? undefined : refusalAnswer(id, refusal);
}
