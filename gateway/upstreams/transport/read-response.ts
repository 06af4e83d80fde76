import { clock } from '../../clock/clock.ts';
import type { JsonObject } from '../../collections/is-object.ts';
import type { OwnedSteps } from '../../event-loop/owned-steps.ts';
import { parseJson } from '../../json/parse-json.ts';
import { exceeds, type NestingLimits } from '../../json/nesting.ts';
import { errorLimits, resultLimits } from '../../spec/result-bounds.ts';
import type { Secrets } from './credentials.ts';
import type { HttpResponse } from './http-exchange.ts';
import { findResult, isMeaningful, LARGE_RESPONSE_BYTES, membersInSteps, membersOf } from './response-envelope.ts';
import {
  failureOfStatus,
  parseResponse,
  TooManyValues,
  UpstreamFailure,
  type ErrorResponse,
  type LargeResponse,
  type UpstreamResponse,
  type ResultResponse,
} from './upstream-response.ts';

/** Limit for an error's message. Messages of old Lotus and Hardhat contain whole payloads. */
const MAX_MESSAGE_CHARS = 64 * 1024;

/** The members of a response that are parsed, each for itself, beside its result. */
const envelopeMembers = ['id', 'error'] as const;
/** The members that are parsed where there is no result: those of a bare error, too. */
const bareErrorMembers = [...envelopeMembers, 'code', 'message', 'data'] as const;

/**
 * Reads an HTTP response. The body takes precedence over the status: nodes send valid errors with 4xx and rate limits
 * with 200. Bodies without an envelope, which providers send with 429 and 5xx, count as errors too.
 * @param id the id of the request
 * @param secrets removed from a result with texts; undefined for other results. Errors keep theirs, because rules match
 * the original text.
 * @throws UpstreamFailure if the body has no response to this request
 */
export function readResponse(response: HttpResponse, id: number, secrets: Secrets | undefined): UpstreamResponse {
  const { body } = response;
  return body.length < LARGE_RESPONSE_BYTES
    ? (readCommonEnvelope(body.toString('utf8'), id, secrets) ??
        parseResponse(ofMembers(membersOf(body), response, id, secrets)))
    : (readFound(response, id, secrets) ?? ofMembers(membersOf(body), response, id, secrets));
}

/** The same of a response of any size, with pauses for the event loop. @throws UpstreamFailure (rejects with it) */
export async function readInSteps(
  response: HttpResponse,
  id: number,
  secrets: Secrets | undefined,
  steps: OwnedSteps,
): Promise<UpstreamResponse> {
  const found = readFound(response, id, secrets);
  return found ?? ofMembers(await membersInSteps(response.body, steps), response, id, secrets);
}

/** Finds a large result in an envelope as nodes write it. @returns undefined: the members of the response must be read */
function readFound(response: HttpResponse, id: number, secrets: Secrets | undefined): LargeResponse | undefined {
  const { body } = response;
  const found = findResult(body, id);
  if (found === undefined) return undefined;
  const parseMembers = (): UpstreamResponse => ofMembers(membersOf(body), response, id, secrets);
  const reread = async (steps: OwnedSteps): Promise<UpstreamResponse> =>
    ofMembers(await membersInSteps(body, steps), response, id, secrets);
  return { ...largeResult(found, secrets, parseMembers), reread };
}

/** Reads a response by its members. Only those of an error are parsed. @throws UpstreamFailure */
function ofMembers(
  members: ReadonlyMap<string, Buffer> | undefined,
  { status, body, retryAfter }: HttpResponse,
  id: number,
  secrets: Secrets | undefined,
): UpstreamResponse {
  if (members === undefined) throw missingResponse(status, body.toString('utf8', 0, MAX_MESSAGE_CHARS), retryAfter);
  const result = members.get('result');
  const read: Record<string, unknown> = {};
  for (const name of result === undefined ? bareErrorMembers : envelopeMembers) {
    const value = members.get(name);
    if (value !== undefined) read[name] = parseWithin(errorLimits, value);
  }
  if (isMeaningful(read['error']) || result === undefined) return readFailed(read, id, { status, body, retryAfter });
  checkId(read, id, false, status);
  return largeResult(result, secrets, () => raise(missingResponse(status, '', retryAfter)));
}

/** @param otherwise in place of a result that is not one value */
function largeResult(bytes: Buffer, secrets: Secrets | undefined, otherwise: () => UpstreamResponse): LargeResponse {
  const text = secrets === undefined ? undefined : bytes.toString('utf8');
  if (text !== undefined && secrets?.areIn(text) === true) {
    if (exceeds(bytes, resultLimits(bytes.length))) throw new TooManyValues();
    return largeResult(Buffer.from(secrets.removeFromJson(text)), undefined, otherwise);
  }
  return { kind: 'large', parts: [bytes], parse: () => parseResult(bytes) ?? parseResponse(otherwise()) };
}

/** @returns undefined: it is not one value @throws UpstreamFailure */
export function parseResult(bytes: Buffer): ResultResponse | undefined {
  const text = bytes.toString('utf8');
  const result = parseWithin(resultLimits(bytes.length), bytes, text);
  return result === undefined ? undefined : { kind: 'result', result, text };
}

/**
 * Reads a result from one of the two envelopes that most nodes write, without parsing the envelope. If the text between
 * its ends is one JSON value, the envelope has no other members.
 * @returns undefined if the body must be parsed
 */
function readCommonEnvelope(text: string, id: number, secrets: Secrets | undefined): ResultResponse | undefined {
  const found = commonResult(text, id);
  if (found === undefined) return undefined;
  if (quotedHex.test(found)) return { kind: 'result', result: found.slice(1, -1), text: found };
  const result = secrets === undefined ? found : secrets.removeFromJson(found);
  const value = parseJson(result);
  return value === undefined ? undefined : { kind: 'result', result: value, text: result };
}

const quotedHex = /^"0x[0-9a-f]*"$/;

const START = '{"jsonrpc":"2.0",';

/** The text between the ends of a common envelope. */
function commonResult(text: string, id: number): string | undefined {
  // geth ends its responses with a line feed.
  const end = text.endsWith('}') ? text.length - 1 : text.endsWith('}\n') ? text.length - 2 : -1;
  if (end === -1 || !text.startsWith(START)) return undefined;
  const ownId = `"id":${id}`;
  if (text.startsWith(ownId, START.length)) {
    const at = START.length + ownId.length;
    return text.startsWith(',"result":', at) ? text.slice(at + 10, end) : undefined;
  }
  // Nethermind and besu write the id last.
  const isLast =
    text.startsWith('"result":', START.length) && text.endsWith(ownId, end) && text[end - ownId.length - 1] === ',';
  return isLast ? text.slice(START.length + 9, end - ownId.length - 1) : undefined;
}

/** Reads a response with an error, or without a result. @throws UpstreamFailure */
function readFailed(body: JsonObject, id: number, { status, retryAfter }: HttpResponse): ErrorResponse {
  const { error } = body;
  if (!isMeaningful(error))
    return readBareError(body, status, retryAfter) ?? raise(missingResponse(status, '', retryAfter));
  checkId(body, id, true, status);
  return readError(error, status, retryAfter) ?? raise(missingResponse(status, '', retryAfter));
}

/** @returns undefined: the bytes are no JSON @throws TooManyValues */
export function parseWithin(limits: NestingLimits, bytes: Buffer, text = bytes.toString('utf8')): unknown {
  if (exceeds(bytes, limits)) throw new TooManyValues();
  return parseJson(text);
}

/**
 * Errors often have id null. Providers that reject requests, with 401 or 429, return one text with a fixed id for all. Some nodes
 * return the number as a string. A result must have its id.
 */
function checkId(body: JsonObject, id: number, isError: boolean, status: number): void {
  const returnedId = body['id'];
  if (returnedId === id || returnedId === String(id)) return;
  const needsNone = returnedId === null || returnedId === undefined || failureOfStatus[status] !== undefined;
  if (isError && needsNone) return;
  throw new UpstreamFailure('malformed', 'the response has the id of another call');
}

function readError(error: unknown, status: number, retryAfter: string | undefined): ErrorResponse | undefined {
  if (typeof error === 'string') return makeErrorResponse(undefined, error, undefined, status, retryAfter);
  const { code, message, data, error: inner } = error as JsonObject;
  if (typeof message === 'string') return makeErrorResponse(code, message, data, status, retryAfter);
  // ganache 7 nests the error of a contract creation without funds; the outer code is that of a parse error.
  if (isMeaningful(inner)) return readError(inner, status, retryAfter);
  if (typeof code === 'number' || data !== undefined) return makeErrorResponse(code, '', data, status, retryAfter);
  return undefined;
}

/** `{"code":…,"message":…}` without an envelope (QuickNode), or `{"message":"Forbidden"}` (cloud gateways). */
function readBareError(body: JsonObject, status: number, retryAfter: string | undefined): ErrorResponse | undefined {
  const { code, message, data } = body;
  if (typeof message !== 'string' || (code === undefined && status < 400)) return undefined;
  return makeErrorResponse(code, message, data, status, retryAfter);
}

function makeErrorResponse(
  code: unknown,
  message: string,
  data: unknown,
  status: number,
  retryAfter: string | undefined,
): ErrorResponse {
  return {
    kind: 'error',
    code: integerOf(code) ?? codeFor(status),
    message: message.slice(0, MAX_MESSAGE_CHARS),
    data,
    status,
    retryAfterMs: retryAfterMs(retryAfter),
  };
}

/** Some nodes return the code as a string of digits. A name (`ERR_ASSERTION`) is not a code. */
function integerOf(code: unknown): number | undefined {
  const number = typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? Number(code) : code;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

/** Code of an error without one: the HTTP status, if a rule for limits matches it as a code. */
function codeFor(status: number): number {
  return status === 429 || status === 402 || status === 503 ? status : -32000;
}

/** A proxy's page or an empty body. It contains no text of a contract. */
function missingResponse(status: number, text: string, retryAfter: string | undefined): UpstreamFailure {
  const isLimit = /too many requests|rate limit/i.test(text.slice(0, 1_000));
  const known = status < 500 ? failureOfStatus[status] : undefined;
  const failure = known ?? (isLimit ? 'rate' : status >= 500 ? 'transport' : 'malformed');
  return new UpstreamFailure(failure, `HTTP ${status} without a JSON-RPC response`, false, retryAfterMs(retryAfter));
}

function raise(failure: UpstreamFailure): never {
  throw failure;
}

/**
 * The time from now that `Retry-After` requests; undefined if the header is absent, malformed or in the past.
 * @param header `Retry-After`: seconds, or a date
 */
function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+(?:\.\d+)?$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - clock.unixMs();
  return ms > 0 ? ms : undefined;
}
