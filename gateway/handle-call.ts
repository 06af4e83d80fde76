import { askInTurn } from './ask-in-turn.ts';
import { causeOf, type Log } from './config/log.ts';
import type { KeptReply } from './cache/answer-cache.ts';
import { errorAnswer, largeAnswer, refusalAnswer, resultAnswer, type Answer } from './jsonrpc/answer.ts';
import type { Call } from './jsonrpc/envelope.ts';
import { methodNotFound, RpcError } from './jsonrpc/errors.ts';
import type { CallRules } from './keys/call-rules.ts';
import type { KeyAccess } from './keys/key-access.ts';
import type { Limiter } from './limits/limiter.ts';
import type { RepeatedCalls } from './repeated-calls.ts';
import type { RequestNote } from './request-note.ts';
import type { ServedMethod, ServedNetwork } from './served-network.ts';
import { lowerHashes } from './spec/prepare-params.ts';
import { rejectionOverHttp, type SocketSubscriptions } from './subscriptions/socket-subscriptions.ts';
import type { CallObserver, CallWatch } from './upstream/asking.ts';
import { Cancelled, type Cancellation } from './upstream/cancellation.ts';
import type { Reply } from './upstream/reply.ts';

/** Who calls, and within what. The key was checked before, and let in. */
export interface CallContext {
  readonly network: ServedNetwork;
  readonly access: KeyAccess;
  readonly limiter: Limiter;
  /** Shown to the caller and logged with what was unforeseen. */
  readonly requestId: string;
  /** Until when all that was sent together must be answered, on the clock of performance.now(). */
  readonly deadline: number;
  /** Breaks off what is under way when the caller leaves. */
  readonly caller: Cancellation;
  /** Hears of each call how it came to its answer; mostly nobody does. */
  readonly watch: CallWatch | undefined;
  readonly log: Log;
  /** Of the batch that the call is in, where some stand in it more than once. */
  readonly repeated?: RepeatedCalls;
  /** What is left for large results in the answer to the batch that the call is in. */
  readonly room?: { bytes: number };
  /** Of the caller's WebSocket, where there is one. */
  readonly subscriptions?: SocketSubscriptions;
  /** For the access log, where there is one. */
  readonly note?: RequestNote | undefined;
}

/** One call, from envelope to answer, the same over every transport. Undefined: a notification. Never rejects. */
export async function handleCall(call: Call, context: CallContext): Promise<Answer | undefined> {
  const startedAt = performance.now();
  const { network, access } = context;
  const method = network.methods.get(call.method);
  const { meter, usage } = method ?? network.otherMethods;
  let outcome = 'result';
  let units = 0;
  let told: Answer | undefined;
  let code: number | undefined;
  const observer = context.watch?.begin(method?.spec.name ?? 'other', network.config.slug, call.id);
  meter.started();
  try {
    if (method === undefined) throw methodNotFound(call.method);
    const objection = objectionTo(method, call, access);
    if (objection !== 'none') throw objection;
    // Nobody would hear the answer, and a read has no other effect: the upstream is spared.
    if (call.id === undefined && method.spec.sends !== true) outcome = 'notification';
    else if (call.id !== undefined && method.localResult !== undefined) {
      told = resultAnswer(call.id, method.localResult);
    } else if (method.isOfSocket && call.id !== undefined) {
      units = method.spec.weight ?? 1;
      told = resultAnswer(call.id, await askSocket(method, call.params, context));
    } else {
      units = method.spec.weight ?? 1;
      const reply = await replyTo(method, call, context, observer);
      outcome = outcomeOf(reply);
      if (reply.kind === 'error') ({ code } = reply);
      if (call.id !== undefined) {
        takeRoom(reply, context.room);
        told = answer(call.id, reply);
      }
    }
  } catch (error) {
    if (error instanceof Cancelled) outcome = 'caller-left';
    else {
      const refusal = error instanceof RpcError ? error : unforeseen(error, call, context);
      outcome = refusal.reason;
      ({ code } = refusal);
      // Nobody was asked.
      if (outcome === 'overloaded') units = 0;
      if (call.id !== undefined) told = refusalAnswer(call.id, refusal);
    }
  }
  meter.ended(outcome, startedAt);
  observer?.ended(outcome, code);
  context.note?.ended(outcome);
  usage.add(access.record.id, units, isError(outcome), told?.body.length ?? 0);
  return told;
}

/** Why a call of this method goes no further, if anything: by its parameters, or by the key's rules. Looked at once. */
export function objectionTo(method: ServedMethod, call: Call, { calls }: KeyAccess): RpcError | 'none' {
  if (call.objection === undefined) {
    call.objection = findObjection(method, call.params, call.given, calls);
    call.given = undefined;
  }
  return call.objection;
}

/** @param given the parameters as the caller wrote them; undefined where they were checked before */
function findObjection(
  { spec, check }: ServedMethod,
  params: readonly unknown[],
  given: string | undefined,
  rules: CallRules | undefined,
): RpcError | 'none' {
  if (rules?.allowMethod(spec) === false) return new RpcError('key-settings');
  const complaint = check(params, given);
  if (complaint !== undefined) return new RpcError('invalid-params', complaint);
  return rules?.allowContract(spec, params) === false ? new RpcError('key-settings') : 'none';
}

async function askSocket({ spec }: ServedMethod, params: readonly unknown[], context: CallContext): Promise<string> {
  if (context.subscriptions === undefined) throw rejectionOverHttp(spec);
  return context.subscriptions.call(spec, params, context);
}

function replyTo(
  method: ServedMethod,
  call: Call,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<Reply | KeptReply> | Reply | KeptReply {
  const { network, repeated } = context;
  if (method.spec.answer === 'filters') {
    const askLogs = (filter: unknown): Promise<Reply | KeptReply> => askForLogs(filter, context, observer);
    return network.filters.ask(method.spec, call.params, { access: context.access, askLogs });
  }
  if (method.spec.answer === 'document') return network.document();
  if (repeated === undefined) return askUpstreams(method, call.params, call.text, context, observer);
  return repeated.reply(method, call, () => askUpstreams(method, call.params, call.text, context, observer));
}

/** What a filter finds is no more than `eth_getLogs` would give this key on this network. @throws RpcError */
async function askForLogs(
  filter: unknown,
  context: CallContext,
  observer: CallObserver | undefined,
): Promise<Reply | KeptReply> {
  const logs = context.network.methods.get('eth_getLogs');
  if (logs === undefined) throw methodNotFound('eth_getLogs');
  const objection = findObjection(logs, [filter], undefined, context.access.calls);
  if (objection !== 'none') throw objection;
  return askUpstreams(logs, [filter], undefined, context, observer);
}

/**
 * Once for all who ask the same at the same time, and not at all where the answer was kept.
 * @param givenText the parameters as JSON, where that was made
 */
function askUpstreams(
  method: ServedMethod,
  given: readonly unknown[],
  givenText: string | undefined,
  { network, deadline, caller }: CallContext,
  observer: CallObserver | undefined,
): Promise<Reply | KeptReply> | KeptReply {
  const { spec, cache } = method;
  const { shared, upstreams, queue } = network;
  const params = lowerHashes(spec, given);
  const text = params === given && givenText !== undefined ? givenText : JSON.stringify(params);
  if (!method.isShared) {
    observer?.cached('not-kept');
    const reply = askInTurn(upstreams, queue, { method: spec, params, text, deadline, caller, observer });
    return method.movesChain ? reply.finally(shared.forget.bind(shared)) : reply;
  }
  observer?.cached(cache === undefined ? (spec.cache === undefined ? 'not-kept' : 'off') : 'hit');
  const kept = cache?.find(text);
  if (kept !== undefined) return { kind: 'kept', result: kept };
  const ask = (all: Cancellation): Promise<Reply> =>
    askInTurn(upstreams, queue, { method: spec, params, text, deadline, caller: all, observer });
  const askOrFetch = (all: Cancellation): Promise<Reply | KeptReply> => {
    if (cache === undefined) return ask(all);
    return cache.fetch(params, text, () => {
      observer?.cached(cache.mayKeep(params) ? 'miss' : 'not-kept');
      return ask(all);
    });
  };
  return shared.reply(`${spec.name} ${text}`, { deadline, caller }, askOrFetch, observer);
}

/** One large reply may be that to many calls of a batch: looked at before it is copied for each. @throws RpcError */
function takeRoom(reply: Reply | KeptReply, room: CallContext['room']): void {
  if (room === undefined) return;
  if (reply.kind === 'kept') room.bytes -= reply.result.length;
  else if (reply.kind === 'large') for (const { length } of reply.parts) room.bytes -= length;
  else return;
  if (room.bytes < 0) throw new RpcError('answer-too-large');
}

function answer(id: string, reply: Reply | KeptReply): Answer {
  if (reply.kind === 'kept') return keptAnswer(id, reply.result);
  if (reply.kind === 'result') return resultAnswer(id, reply.text ?? JSON.stringify(reply.result));
  if (reply.kind === 'large') return largeAnswer(id, reply.parts);
  return errorAnswer(id, reply.code, reply.message, reply.data as string | undefined);
}

function keptAnswer(id: string, result: string | Buffer): Answer {
  return typeof result === 'string' ? resultAnswer(id, result) : largeAnswer(id, [result]);
}

function outcomeOf(reply: Reply | KeptReply): string {
  if (reply.kind === 'large' || reply.kind === 'kept') return 'result';
  if (reply.kind === 'result') return reply.result === null ? 'null' : 'result';
  return reply.code === 3 ? 'revert' : 'node-error';
}

function isError(outcome: string): boolean {
  return outcome !== 'result' && outcome !== 'null' && outcome !== 'notification' && outcome !== 'caller-left';
}

/** The caller gets an id to ask about, the log gets the cause. */
function unforeseen(error: unknown, call: Call, { network, requestId, log }: CallContext): RpcError {
  const method = network.methods.has(call.method) ? call.method : 'other';
  log.error({ requestId, network: network.config.slug, method, ...causeOf(error) }, 'internal error');
  return new RpcError('internal-error', `internal error (${requestId})`);
}
