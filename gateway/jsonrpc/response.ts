import { BatchTooLarge, type RpcError } from './errors.ts';

/** What a caller is told of one call, ready to be sent. */
export interface RpcResponse {
  /** HTTP status of a lone call; inside a batch and over WebSocket it does not count. */
  readonly status: number;
  /** A JSON-RPC response object as text, or as bytes where they came so. */
  readonly body: string | Buffer;
  /** Seconds that the caller should wait. */
  readonly retryAfterS?: number | undefined;
  /** What the key has left of its limits: this many of so many, until so many seconds from now. */
  readonly allowance?: { readonly limit: number; readonly remaining: number; readonly resetS: number } | undefined;
}

/** @param id the call's id as JSON text  @param result as JSON text */
export function resultResponse(id: string, result: string): RpcResponse {
  return { status: 200, body: `{"jsonrpc":"2.0","id":${id},"result":${result}}` };
}

const END = Buffer.from('}');

/** @param result as JSON, in bytes, part after part */
export function largeResponse(id: string, result: readonly Buffer[]): RpcResponse {
  const start = Buffer.from(`{"jsonrpc":"2.0","id":${id},"result":`);
  return { status: 200, body: Buffer.concat([start, ...result, END]) };
}

/** A node's own error, passed on. @param data 0x-hex, or undefined */
export function errorResponse(id: string, code: number, message: string, data: string | undefined): RpcResponse {
  return { status: 200, body: errorBody(id, code, message, data) };
}

/** Our own refusal. */
export function rejectionResponse(id: string, error: RpcError): RpcResponse {
  const body = errorBody(id, error.code, error.message, undefined);
  return { status: error.status, body, retryAfterS: error.retryAfterS };
}

/** Our own refusal of a whole body: under id null, but for a batch with too many requests. */
export function bodyRejectionResponse(error: RpcError): RpcResponse {
  if (!(error instanceof BatchTooLarge)) return rejectionResponse('null', error);
  return { status: error.status, body: `[${errorBody(error.id, error.code, error.message, undefined)}]` };
}

/** Field by field: V8 makes slow objects of a spread with more in it. */
export function withAllowance(
  { status, body, retryAfterS }: RpcResponse,
  allowance: RpcResponse['allowance'],
): RpcResponse {
  return { status, body, retryAfterS, allowance };
}

function errorBody(id: string, code: number, message: string, data: string | undefined): string {
  const tail = data === undefined ? '' : `,"data":${JSON.stringify(data)}`;
  return `{"jsonrpc":"2.0","id":${id},"error":{"code":${code},"message":${JSON.stringify(message)}${tail}}}`;
}
