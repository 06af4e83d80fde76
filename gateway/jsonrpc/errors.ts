/**
 * Every error that the gateway itself returns. The reason is the metric label, the log field and the row in
 * docs/errors.md, which is generated from this table. A message here is the usual one: where the error is thrown, it can name what
 * happened. Errors of upstreams are not here: they are upstream responses.
 */
const catalogue = {
  'parse-error': { code: -32700, status: 400, message: 'parse error: the body is not JSON' },
  'invalid-request': { code: -32600, status: 400, message: 'invalid request: expected a JSON-RPC 2.0 request object' },
  'nested-too-deep': { code: -32600, status: 400, message: 'invalid request: nested too deep, or too many values' },
  'empty-batch': { code: -32600, status: 200, message: 'empty batch' },
  'method-not-found': { code: -32601, status: 200, message: 'The method does not exist/is not available' },
  'invalid-params': { code: -32602, status: 200, message: 'invalid params' },
  // Messages and codes of geth (rpc/errors.go, rpc/subscription.go).
  'no-notifications': { code: -32601, status: 200, message: 'notifications not supported' },
  'no-such-subscription': { code: -32601, status: 200, message: 'no such subscription in eth namespace' },
  'subscription-not-found': { code: -32000, status: 200, message: 'subscription not found' },
  'filter-not-found': { code: -32000, status: 200, message: 'filter not found' },
  'key-missing': { code: -32002, status: 401, message: 'project id required in the url' },
  'key-invalid': { code: -32002, status: 401, message: 'invalid project id' },
  'token-invalid': { code: -32002, status: 401, message: 'invalid token' },
  'secret-invalid': { code: -32002, status: 401, message: 'invalid project id or project secret' },
  'key-settings': { code: -32002, status: 403, message: 'rejected due to project ID settings' },
  'not-public': { code: -32002, status: 403, message: 'project id required: this method is not public' },
  'unknown-network': { code: -32002, status: 404, message: 'no network at this address' },
  'upgrade-required': { code: -32600, status: 426, message: 'this address is for WebSocket only' },
  'verb-not-allowed': { code: -32600, status: 405, message: 'method not allowed: send JSON-RPC by POST' },
  'body-too-large': { code: -32600, status: 413, message: 'body too large' },
  'batch-too-large': { code: -32600, status: 200, message: 'batch too large' },
  'unsupported-encoding': {
    code: -32600,
    status: 415,
    message: 'unsupported content encoding: send the body plain or in gzip',
  },
  'bad-http': { code: -32600, status: 400, message: 'bad HTTP request' },
  'body-too-slow': { code: -32600, status: 408, message: 'the request took too long to arrive' },
  'unknown-key-limit': { code: -32005, status: 429, message: 'too many unknown project ids from this address' },
  'rate-limit': { code: -32005, status: 429, message: 'project ID request rate exceeded' },
  'daily-quota': { code: -32005, status: 429, message: 'daily request count exceeded, request rate limited' },
  'monthly-quota': { code: -32005, status: 429, message: 'monthly request count exceeded, request rate limited' },
  'too-many-requests': {
    code: -32005,
    status: 429,
    retryAfterS: 1,
    message: 'too many requests in flight with this project id',
  },
  'too-many-sockets': {
    code: -32005,
    status: 429,
    retryAfterS: 1,
    message: 'too many WebSockets with this project id',
  },
  'too-many-subscriptions': { code: -32005, status: 429, message: 'too many subscriptions with this project id' },
  'node-state': { code: -32603, status: 200, message: 'no upstream could answer' },
  'beyond-bound': { code: -32005, status: 200, message: 'the request or its response is beyond a bound' },
  'request-too-large': { code: -32005, status: 200, message: 'no upstream allows a request of this size' },
  'response-too-large': { code: -32005, status: 200, message: 'the responses of this batch are too large together' },
  'not-proven': { code: -32603, status: 200, message: 'no upstream returned a result that could be proven' },
  'no-upstream': { code: -32603, status: 503, retryAfterS: 1, message: 'no upstream could answer' },
  'key-store-unreachable': {
    code: -32603,
    status: 503,
    retryAfterS: 1,
    message: 'the key cannot be checked at the moment',
  },
  'quota-unreachable': {
    code: -32603,
    status: 503,
    retryAfterS: 1,
    message: 'the quota cannot be checked at the moment',
  },
  'memory-share': {
    code: -32005,
    status: 429,
    retryAfterS: 1,
    message: 'too many bytes are buffered for this project id: read the responses, or send less at once',
  },
  overloaded: { code: -32603, status: 503, retryAfterS: 1, message: 'the gateway is overloaded' },
  'memory-pressure': { code: -32603, status: 503, retryAfterS: 1, message: 'the gateway is short of memory' },
  stopping: { code: -32603, status: 503, retryAfterS: 1, message: 'this gateway is about to stop: connect again' },
  'internal-error': { code: -32603, status: 500, message: 'internal error' },
} as const satisfies Record<string, ErrorRow>;

/** Rejections for which upstreams are the cause, although their status is below 500. */
const upstreamFaults: ReadonlySet<string> = new Set(['node-state', 'not-proven'] satisfies Reason[]);

/** Whether the gateway or its upstreams are the cause of a rejection, and not its caller. */
export function isServerFault(reason: string): boolean {
  const rows: Readonly<Record<string, ErrorRow>> = catalogue;
  return upstreamFaults.has(reason) || (rows[reason]?.status ?? 0) >= 500;
}

interface ErrorFields {
  readonly code: number;
  /** HTTP status of a single call and of a rejected body. */
  readonly status: 200 | 400 | 401 | 403 | 404 | 405 | 408 | 413 | 415 | 426 | 429 | 500;
  readonly message: string;
  /** Seconds that the caller should wait, for `Retry-After`. Code that throws the error may replace it. */
  readonly retryAfterS?: number;
}

/** 503 always has `Retry-After`. */
type ErrorRow = ErrorFields | (Omit<ErrorFields, 'status'> & { readonly status: 503; readonly retryAfterS: number });

export type Reason = keyof typeof catalogue;

export const reasons = Object.keys(catalogue) as Reason[];

/** The rate or quota of a caller does not permit a request. */
export const limitReasons: ReadonlySet<string> = new Set<Reason>([
  'rate-limit',
  'daily-quota',
  'monthly-quota',
  'quota-unreachable',
]);
/** The memory budget has no place for the bytes of a request. */
export const memoryReasons: ReadonlySet<string> = new Set<Reason>(['memory-share', 'memory-pressure', 'overloaded']);

/**
 * Infura's form of the errors over a limit: its documents "Avoid rate limiting" and "Set rate limits", read on 2026-11-30. A team is
 * what its account is. `error.code` is the HTTP status.
 */
export const infuraErrors = {
  account: {
    rate: { status: 429, event: -33200, message: 'Too Many Requests' },
    quota: { status: 402, event: -33000, message: 'Payment Required' },
  },
  key: {
    rate: { status: 429, event: -33300, message: 'Too Many Requests' },
    quota: { status: 429, event: -33400, message: 'Too Many Requests' },
  },
} as const;

/** A row of `infuraErrors`. */
export interface InfuraError {
  readonly status: 402 | 429;
  readonly event: number;
  readonly message: string;
}

/** The values of the RateLimit headers. */
export interface Allowance {
  readonly limit: number;
  readonly remaining: number;
  /** Seconds until `remaining` is `limit` again. */
  readonly resetS: number;
}

/** The permission, limit or bound that rejects a request. For operators: callers get none of it. */
export interface RejectionRule {
  /** The field of the key, and the method if it is a limit of one: `origins`, `daily`, `methodRates of eth_call`. */
  readonly name: string;
  /** Value of the permission as text, or the size of the limit or bound. */
  readonly value?: string;
  /** Header of the request, with `origins`; undefined: it had none. */
  readonly received?: string | undefined;
  /** Units of the request that count for the limit, and those that are left. */
  readonly units?: number;
  readonly available?: number;
}

/** The field of the key, without the method of a limit: there are few of them. */
export function ruleNameOf({ name }: RejectionRule): string {
  return name.split(' ', 1)[0] ?? '';
}

interface RpcErrorOptions {
  readonly cause?: unknown;
  readonly retryAfterS?: number | undefined;
  /** Allowance of the limit that rejects the request. */
  readonly allowance?: Allowance;
  readonly rule?: RejectionRule;
  readonly infura?: InfuraError | undefined;
}

/** A rejection: an error that the gateway itself returns. `message` replaces the catalogue's message for the caller. */
export class RpcError extends Error {
  readonly reason: Reason;
  readonly code: number;
  readonly status: number;
  readonly retryAfterS: number | undefined;
  readonly allowance: Allowance | undefined;
  readonly rule: RejectionRule | undefined;
  /** Infura's error in place of code, status and message, which is its `details`. */
  readonly infura: InfuraError | undefined;

  constructor(reason: Reason, message?: string, options?: RpcErrorOptions) {
    const row: ErrorRow = catalogue[reason];
    super(message ?? row.message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.reason = reason;
    this.infura = options?.infura;
    this.code = this.infura?.status ?? row.code;
    this.status = this.infura?.status ?? row.status;
    this.retryAfterS = options?.retryAfterS ?? row.retryAfterS;
    this.allowance = options?.allowance;
    this.rule = options?.rule;
  }
}

/**
 * A batch with more requests than allowed. The response is geth's (rpc/handler.go, respondWithBatchTooLarge): an array
 * with one error under the id of the first request. Clients that match responses by id would never see an id of null.
 */
export class BatchTooLarge extends RpcError {
  /** JSON text, as the caller sent it; `null` if no request of the batch has an id. */
  readonly id: string;

  constructor(id: string | undefined, maxItems: number) {
    super('batch-too-large', `batch too large: at most ${maxItems} calls are allowed`);
    this.id = id ?? 'null';
  }
}

/** The message of geth, by which ethers recognises an unsupported method. @param hint for operators */
export function methodNotFound(method: string, hint?: string): RpcError {
  const message = `The method ${method.slice(0, 100)} does not exist/is not available`;
  return new RpcError('method-not-found', hint === undefined ? message : `${message}: ${hint}`);
}

/** The call or its response is beyond a bound. @param message begins with the name of the bound: `maxAddresses is 5: …` */
export function beyondBound(message: string): RpcError {
  return new RpcError('beyond-bound', message, { rule: boundOf(message) });
}

function boundOf(message: string): RejectionRule {
  const [, name = '', value] = /^(\S+)(?: is ([^:]+):)?/.exec(message) ?? [];
  return { name, ...(value !== undefined && { value }) };
}

/** Some responses of a batch do not fit. */
export function batchBytesRejection(maxBytes: number): RpcError {
  const message = `the responses of this batch have more than ${maxBytes} bytes; fewer calls would fit`;
  return new RpcError('response-too-large', message);
}
