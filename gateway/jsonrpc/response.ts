import { BufferList, type Body } from './buffer-list.ts';
import { BatchTooLarge, type Allowance, type InfuraError, RpcError, reasons } from './errors.ts';

/** Bytes that arrive while they are read. */
export interface FlowingBytes {
  /** @returns undefined if `next` need not wait; else a promise that never rejects */
  wait(): Promise<void> | undefined;
  /** The next bytes; undefined: there are no more. @throws if they are incomplete */
  next(): readonly Buffer[] | undefined;
  /** The reader needs no more. */
  cancel(): void;
  /** Resolves when there are no more, or the reader needs none. Never rejects. */
  readonly ended: Promise<unknown>;
}

/** The response to one call, ready to be sent. */
export interface RpcResponse {
  /** HTTP status of a single call; not used inside a batch and over WebSocket. */
  readonly status: number;
  /** A JSON-RPC response object: text, or bytes if the result was received as bytes. Its start, if the result flows. */
  readonly body: Body;
  /** A result that still arrives, after which the response ends with `}`. */
  readonly result?: FlowingBytes | undefined;
  /** Seconds that the caller should wait. */
  readonly retryAfterS?: number | undefined;
  /** Units that remain of the key's limit, and the seconds until the limit resets. */
  readonly allowance?: Allowance | undefined;
  /** HTTP reason phrase; undefined: that of the status. */
  readonly reasonPhrase?: string | undefined;
}

/** @param id the call's id as JSON text  @param result as JSON text */
export function resultResponse(id: string, result: string): RpcResponse {
  return { status: 200, body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` };
}

const END = Buffer.from('}');

/** The bytes of a response before its result. */
export function responseStart(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`);
}
/** Larger responses are not copied. */
const MAX_JOINED_BYTES = 32_768;

/** @param result parts of the result as JSON bytes, in order */
export function largeResponse(id: string, result: readonly Buffer[]): RpcResponse {
  const list = new BufferList([responseStart(id), ...result, END]);
  return { status: 200, body: list.length <= MAX_JOINED_BYTES ? list.join() : list };
}

/** The bytes of a response without its result. */
export function responseBytes(id: string): number {
  return responseStart(id).length + END.length;
}

/** An error of an upstream. @param data 0x-hex, or undefined; of a bundler any value */
export function errorResponse(id: string, code: number, message: string, data: unknown): RpcResponse {
  return { status: 200, body: errorBody(id, code, message, data) };
}

/** The response for a rejected call. */
export function rejectionResponse(id: string, error: RpcError): RpcResponse {
  const { status, message, retryAfterS, allowance, infura } = error;
  if (infura !== undefined) return infuraResponse(id, error, infura);
  const body = errorBody(id, error.code, message, undefined);
  return { status, body, retryAfterS, allowance, reasonPhrase: status === 200 ? undefined : reasonPhraseOf(message) };
}

function infuraResponse(
  id: string,
  { message: details, retryAfterS, allowance }: RpcError,
  { status, event, message }: InfuraError,
): RpcResponse {
  const body = `{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code: status, event, message, details })}}`;
  return { status, body, retryAfterS, allowance, reasonPhrase: message };
}

/** The response for a body rejected as a whole. Its id is null, except for a batch with too many requests. */
export function bodyRejectionResponse(error: RpcError): RpcResponse {
  if (!(error instanceof BatchTooLarge)) return rejectionResponse('null', error);
  return { status: error.status, body: `[${errorBody(error.id, error.code, error.message, undefined)}]` };
}

/** Copies field by field: V8 creates slow objects from a spread with further fields. */
export function withAllowance(
  { status, body, result, retryAfterS, reasonPhrase }: RpcResponse,
  allowance: RpcResponse['allowance'],
): RpcResponse {
  return { status, body, result, retryAfterS, allowance, reasonPhrase };
}

function errorBody(id: string, code: number, message: string, data: unknown): string {
  const tail = data === undefined ? '' : `,"data":${JSON.stringify(data)}`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${tail}}}`;
}

/** Maximum length of a phrase: longer ones fill the log lines of proxies. */
const MAX_PHRASE_LENGTH = 200;
/** Node rejects control characters, and a client reads bytes above ASCII as Latin-1. */
const NOT_PRINTABLE = /[^\x20-\x7e]+/g;

/** Reason phrases of the messages of the catalogue. */
const phrases = new Map(
  reasons.map((reason) => [new RpcError(reason).message, sanitise(new RpcError(reason).message)]),
);

/**
 * The HTTP reason phrase of a rejection: its message. Some clients show the status line and drop the body, such as
 * web3.py, whose errors are those of `raise_for_status` of requests.
 */
export function reasonPhraseOf(message: string): string {
  return phrases.get(message) ?? sanitise(message);
}

function sanitise(message: string): string {
  return message.replace(NOT_PRINTABLE, ' ').slice(0, MAX_PHRASE_LENGTH).trim();
}
