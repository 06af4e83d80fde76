import { findResult, LARGE_RESPONSE_BYTES } from './read-large-response.ts';
import {
  UpstreamFailure,
  type ErrorResponse,
  type FailureClass,
  type UpstreamResponse,
  type ResultResponse,
} from './upstream-response.ts';
import { retryAfterMs } from './retry-after.ts';

type JsonObject = Readonly<Record<string, unknown>>;

/** Characters of an error's message that are looked at. Whole payloads stand in messages of old Lotus and Hardhat. */
const MAX_MESSAGE_CHARS = 64 * 1024;

/**
 * Reads an HTTP reply. The body counts before the status: nodes send valid errors with 4xx and rate limits with 200.
 * Bodies without an envelope, as providers send them on 429 and 5xx, count as errors too.
 * @param id the id that was sent
 * @param retryAfter the header of that name
 * @throws UpstreamFailure when it holds no reply to this call
 */
export function readResponse(status: number, bytes: Buffer, id: number, retryAfter?: string): UpstreamResponse {
  if (bytes.length >= LARGE_RESPONSE_BYTES) {
    const large = findResult(bytes, id);
    const parse = (): ResultResponse | ErrorResponse => readParsed(status, bytes.toString('utf8'), id, retryAfter);
    return large === undefined ? parse() : { kind: 'large', parts: [large], parse };
  }
  const text = bytes.toString('utf8');
  return readCommonEnvelope(text, id) ?? readParsed(status, text, id, retryAfter);
}

/**
 * A result in one of the envelopes that most nodes write, without a look at the envelope but that it is there: what is
 * left of it is one value of JSON, or there was something else in it.
 * @returns undefined where it must be read member by member
 */
function readCommonEnvelope(text: string, id: number): ResultResponse | undefined {
  const result = commonResult(text, id);
  if (result === undefined) return undefined;
  if (quotedHex.test(result)) return { kind: 'result', result: result.slice(1, -1), text: result };
  const value = parse(result);
  return value === undefined ? undefined : { kind: 'result', result: value, text: result };
}

const quotedHex = /^"0x[0-9a-f]*"$/;

const start = '{"jsonrpc":"2.0",';

/** What should be the text of the result, if the rest is an envelope of the usual. */
function commonResult(text: string, id: number): string | undefined {
  // geth ends its replies with a line feed.
  const end = text.endsWith('}') ? text.length - 1 : text.endsWith('}\n') ? text.length - 2 : -1;
  if (end === -1 || !text.startsWith(start)) return undefined;
  const ownId = `"id":${id}`;
  if (text.startsWith(ownId, start.length)) {
    const at = start.length + ownId.length;
    return text.startsWith(',"result":', at) ? text.slice(at + 10, end) : undefined;
  }
  // Nethermind's, besu's
  const isLast =
    text.startsWith('"result":', start.length) && text.endsWith(ownId, end) && text[end - ownId.length - 1] === ',';
  return isLast ? text.slice(start.length + 9, end - ownId.length - 1) : undefined;
}

function readParsed(
  status: number,
  text: string,
  id: number,
  retryAfter: string | undefined,
): ResultResponse | ErrorResponse {
  const body = bodyOf(text);
  if (body === undefined) throw missingResponse(status, text, retryAfter);
  const { error, result } = body;
  if (isMeaningful(error)) {
    checkId(body, id, true);
    return readError(error, status, retryAfter) ?? fail(missingResponse(status, '', retryAfter));
  }
  if (result !== undefined) {
    checkId(body, id, false);
    return { kind: 'result', result };
  }
  return readBareError(body, status, retryAfter) ?? fail(missingResponse(status, '', retryAfter));
}

/** Some answer a single call with an array of one (Candle, recorded by others). */
function bodyOf(text: string): JsonObject | undefined {
  const body = parse(text);
  const one: unknown = Array.isArray(body) && body.length === 1 ? body[0] : body;
  return isObject(one) ? one : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** `error: null`, `false`, `""` and `{}` beside a result are no errors. */
function isMeaningful(error: unknown): boolean {
  return (typeof error === 'string' && error !== '') || (isObject(error) && Object.keys(error).length > 0);
}

/** Errors often come with id null; some nodes send the number back as a string. A result must name its call. */
function checkId({ id: given }: JsonObject, id: number, isError: boolean): void {
  if (given === id || given === String(id)) return;
  if (isError && (given === null || given === undefined)) return;
  throw new UpstreamFailure('malformed', 'the reply has the id of another call');
}

function readError(error: unknown, status: number, retryAfter: string | undefined): ErrorResponse | undefined {
  if (typeof error === 'string') return errorReply(undefined, error, undefined, status, retryAfter);
  const { code, message, data, error: inner } = error as JsonObject;
  if (typeof message === 'string') return errorReply(code, message, data, status, retryAfter);
  // ganache 7 answers so for a contract's creation without funds; its code is then that of a parse error.
  if (isMeaningful(inner)) return readError(inner, status, retryAfter);
  if (typeof code === 'number' || data !== undefined) return errorReply(code, '', data, status, retryAfter);
  return undefined;
}

/** `{"code":…,"message":…}` by itself (QuickNode), or `{"message":"Forbidden"}` as cloud gateways say it. */
function readBareError(body: JsonObject, status: number, retryAfter: string | undefined): ErrorResponse | undefined {
  const { code, message, data } = body;
  if (typeof message !== 'string' || (code === undefined && status < 400)) return undefined;
  return errorReply(code, message, data, status, retryAfter);
}

function errorReply(
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

/** Codes come as digits in a string too. Names (`ERR_ASSERTION`) are none. */
function integerOf(code: unknown): number | undefined {
  const number = typeof code === 'string' && /^-?\d{1,9}$/.test(code) ? Number(code) : code;
  return Number.isSafeInteger(number) ? (number as number) : undefined;
}

/** For errors without a code of their own: the status where it is one of the limits', which rules know by code. */
function codeFor(status: number): number {
  return status === 429 || status === 402 || status === 503 ? status : -32000;
}

const classOfStatus: Readonly<Record<number, FailureClass>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  408: 'transport',
  413: 'too-large',
  429: 'rate',
};

/** A page of a proxy, or nothing. There is no contract's text in it. */
function missingResponse(status: number, text: string, retryAfter: string | undefined): UpstreamFailure {
  const isLimit = /too many requests|rate limit/i.test(text.slice(0, 1_000));
  const failure = classOfStatus[status] ?? (isLimit ? 'rate' : status >= 500 ? 'transport' : 'malformed');
  return new UpstreamFailure(failure, `HTTP ${status} without a JSON-RPC reply`, false, retryAfterMs(retryAfter));
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fail(failure: UpstreamFailure): never {
  throw failure;
}
