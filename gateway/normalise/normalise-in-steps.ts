import { isUtf8 } from 'node:buffer';
import { gatehouse, type Account } from '../admission/account.ts';
import { Gate } from '../admission/gate.ts';
import { clock } from '../clock/clock.ts';
import { isBytes } from '../collections/is-bytes.ts';
import type { OwnedSteps } from '../event-loop/owned-steps.ts';
import { BeyondLimits, JsonReader, NotJson, skipSpace } from '../json/json-reader.ts';
import { exceeds } from '../json/nesting.ts';
import { parseInSteps } from '../json/parse-in-steps.ts';
import type { MethodSpec } from '../spec/method-spec.ts';
import { BYTES, MAX_DEPTH, MAX_MEMBERS, MAX_PARSED_VALUES, MAX_VALUES, objectLimits } from '../spec/result-bounds.ts';
import type { Outcome } from '../upstreams/outcome.ts';
import type { Cancellation } from '../upstreams/transport/cancellation.ts';
import { stepsUntil } from '../upstreams/health/with-timeout.ts';
import type { LargeTurn } from '../upstreams/transport/large-turn.ts';
import {
  callerTimeout,
  TooManyValues,
  UpstreamFailure,
  type LargeResponse,
} from '../upstreams/transport/upstream-response.ts';
import { normalise } from './normalise.ts';
import { checkResultBytes } from './results/check-result-bytes.ts';
import { checkResult, outcomeOf } from './results/check-result.ts';
import { FlowingList, listElementsOf, UnusableElement } from './results/flowing-list.ts';

/** Bytes of one step: these, and the rest of an element of a list. */
const STEP_BYTES = 65_536;

/** A number of 256 bits has 78 digits. */
const MAX_LITERAL_BYTES = 100;

const [QUOTE, COMMA] = [34, 44];
const OPEN_BRACKET = 91;
const OPEN_BRACE = 123;
/** Length of `"0x`. */
const HEX_START = 3;
/** Whole objects of all owners are parsed one after the other. */
const OBJECTS = 'objects';

/** The call that a result is for. */
export interface Receiver {
  /** Owner whose time of the event loop it takes. */
  readonly name: string;
  readonly owner: Account;
  readonly deadline: number;
  readonly cancellation: Cancellation | undefined;
  /** Turn that the response had while it arrived. It ends when the check begins. */
  readonly largeTurn?: LargeTurn | undefined;
}

/**
 * Normalises a result of many bytes, with pauses for the event loop. A list is checked part by part, and what passes
 * unchanged is not parsed. Results of one owner are checked one after the other, because each takes several times its bytes.
 * @throws UpstreamFailure (rejects with it) if it is no result of the method, or the call has no more time; Cancelled
 */
export function normaliseInSteps(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  receiver: Receiver,
): Promise<Outcome> {
  const { name, owner } = receiver;
  // Each address has its own queue, although all of a network have turns together.
  return inTurn(owner === gatehouse ? name : owner.name, receiver, async () => {
    receiver.largeTurn?.end();
    const steps = stepsUntil(receiver.deadline, name);
    try {
      await steps.next();
      return await check(method, params, response, receiver, steps);
    } catch (error) {
      if (error instanceof BeyondLimits) throw new TooManyValues();
      throw error instanceof NotJson ? new UpstreamFailure('malformed', 'the result is not JSON') : error;
    } finally {
      steps.charge();
    }
  });
}

/** One slot for all work of a name. */
const gates = new Map<string, Gate>();

/** Runs work after the earlier work of the same name, unless its call has no more time or caller. */
async function inTurn<T>(
  name: string,
  { owner, deadline, cancellation }: Receiver,
  work: () => Promise<T>,
): Promise<T> {
  const gate = gates.get(name) ?? new Gate({ slots: 1, hasOneOwner: true, rejection: callerTimeout });
  gates.set(name, gate);
  if (!gate.tryEnter(owner)) await gate.wait(owner, deadline - clock.now(), cancellation);
  try {
    if (cancellation?.isCancelled === true) throw cancellation.reason;
    if (clock.now() >= deadline) throw callerTimeout();
    return await work();
  } finally {
    gate.leave(owner);
    if (gate.inFlight === 0) gates.delete(name);
  }
}

async function check(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  receiver: Receiver,
  steps: OwnedSteps,
): Promise<Outcome> {
  const outcome = await checkValue(method, params, response, receiver, steps);
  if (outcome !== undefined) return outcome;
  const read = (await response.reread?.(steps)) ?? response.parse();
  return read.kind === 'large' ? check(method, params, read, receiver, steps) : normalise(method, params, read);
}

/** @returns undefined: the bytes are more than one value, because the envelope has other members behind the result */
async function checkValue(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  receiver: Receiver,
  steps: OwnedSteps,
): Promise<Outcome | undefined> {
  const first = response.parts[0].subarray(0, STEP_BYTES);
  // Most of what is hostile needs no look at the rest.
  if (method.shape !== undefined && exceeds(first, objectLimits(first.length))) throw new TooManyValues();
  // Clients over WebSocket close the connection at other bytes.
  if (!isUtf8(response.parts[0])) throw new UpstreamFailure('malformed', 'the result is not UTF-8');
  await steps.next();
  const [bytes] = response.parts;
  const isObject = bytes[0] === OPEN_BRACE;
  const isContainer = isObject || bytes[0] === OPEN_BRACKET;
  if (bytes[0] === QUOTE && method.resultKinds !== undefined) return checkText(method, response, steps);
  if (!isContainer && method.resultKinds !== undefined) {
    if (bytes.length <= MAX_LITERAL_BYTES) return normalise(method, params, response);
    if (first.subarray(0, MAX_LITERAL_BYTES).includes(COMMA)) return undefined;
    throw new UpstreamFailure('malformed', 'the result is a number with very many digits');
  }
  const kind = isObject ? 'object' : 'array';
  if (method.resultKinds?.includes(kind) === false)
    throw new UpstreamFailure('malformed', `the result is an ${kind}, which no result of the method is`);
  if (!isObject && method.shape !== undefined) return checkList(method, params, response, steps);
  const limits = method.shape && objectLimits(bytes.length);
  const reader = new JsonReader(bytes, {
    maxDepth: MAX_DEPTH,
    ...(limits && { maxValues: limits.values, maxNameBytes: limits.nameBytes }),
  });
  if (limits === undefined) await skip(reader, steps);
  else {
    reader.enterObject();
    for (let members = 0; reader.nextMember();) {
      if (++members > MAX_MEMBERS) throw new TooManyValues();
      await skip(reader, steps);
    }
  }
  if (reader.at !== bytes.length) return undefined;
  if (limits === undefined) return { final: true, response };
  const outcome = checkResultBytes(method, params, response);
  if (outcome !== undefined) return outcome;
  if (reader.values > MAX_PARSED_VALUES) throw new TooManyValues();
  return inTurn(OBJECTS, receiver, async () => {
    const result = await parseInSteps(bytes, steps, limits, MAX_VALUES);
    return checkResult(method, params, { kind: 'result', result, text: bytes.toString() });
  });
}

/** Checks a text, piece by piece. Of methods with a schema, only bytes are so long. @returns as `checkValue` */
async function checkText(method: MethodSpec, response: LargeResponse, steps: OwnedSteps): Promise<Outcome | undefined> {
  const [bytes] = response.parts;
  const end = bytes.indexOf(QUOTE, 1);
  if (end !== -1 && skipSpace(bytes, end + 1) !== bytes.length) return undefined;
  let fits = method.resultPattern === BYTES && bytes.toString('latin1', 1, HEX_START) === '0x' && end !== -1;
  for (let at = HEX_START; fits && at < end; at += STEP_BYTES) {
    fits = isBytes(`0x${bytes.toString('latin1', at, Math.min(at + STEP_BYTES, end))}`);
    await steps.next();
  }
  if (fits) return { final: true, response };
  return { final: false, failure: 'malformed', response: undefined, detail: 'the result is a long text, but no bytes' };
}

/** Checks a list of objects, some elements at a time. @returns as `checkValue` @throws UpstreamFailure (rejects with it) */
async function checkList(
  method: MethodSpec,
  params: readonly unknown[],
  response: LargeResponse,
  steps: OwnedSteps,
): Promise<Outcome | undefined> {
  const [bytes] = response.parts;
  const list = new FlowingList(listElementsOf(method, params));
  const passed: Buffer[] = [];
  try {
    for (let at = 0; at < bytes.length; at += STEP_BYTES) {
      const end = list.read(bytes.subarray(at, at + STEP_BYTES), passed);
      if (end !== -1) return at + end === bytes.length ? list.outcomeOf(response, passed) : undefined;
      await steps.next();
    }
  } catch (error) {
    if (error instanceof UnusableElement) return outcomeOf(error.status, method, response);
    throw error;
  }
  throw new UpstreamFailure('malformed', 'the result is not JSON');
}

/** Moves to the end of a value. @throws NotJson */
async function skip(reader: JsonReader, steps: OwnedSteps): Promise<void> {
  while (!reader.skipTowards(reader.at + STEP_BYTES)) await steps.next();
}
