import { exceeds } from '../../gateway/jsonrpc/nesting.ts';
import type { FuzzRequest } from './fuzz-requests.ts';

/** A response. Header names are in lower case. */
export interface FuzzResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

export interface ContractOptions {
  /** Path of the network, up to the key. */
  readonly base: string;
  readonly key: string;
  /** Texts that no response may have: addresses, keys, paths. */
  readonly secrets: readonly string[];
}

/** The response that the contract allows for a whole request, or for one item of it. */
interface Due {
  readonly statuses: readonly number[];
  /** Undefined: no body. An array: a batch, item by item. */
  readonly items: DueItem | readonly DueItem[] | undefined;
}

interface DueItem {
  /** Parsed; numbers beyond doubles are compared as doubles here, and as text in the tests of the envelope. */
  readonly id: unknown;
  /** Allowed error codes. Undefined: any error of a node, or a result. */
  readonly codes: readonly number[] | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** Checks one response by the contract (design §3). @returns the violation, or undefined */
export function breachOf(request: FuzzRequest, response: FuzzResponse, options: ContractOptions): string | undefined {
  const { status, headers, text } = response;
  if (!/^[0-9a-f]{6}-[0-9a-z]+$/.test(String(headers['x-request-id']))) return 'no X-Request-Id';
  if (headers['access-control-allow-origin'] !== '*') return 'no CORS header';
  const leak = [...options.secrets, '    at ', 'node_modules', '.ts:', '.js:'].find((secret) => text.includes(secret));
  if (leak !== undefined) return `the response has ${leak}`;

  const { statuses, items } = dueOf(request, options);
  if (!statuses.includes(status)) return `HTTP ${status} in place of ${statuses.join(' or ')}`;
  if (status === 405 && headers['allow'] !== 'POST, OPTIONS') return 'no Allow';
  if (status === 429 && !/^\d\d$/.test(String(headers['retry-after']))) return 'no Retry-After of two digits';
  if (items === undefined || request.verb === 'HEAD') return text === '' ? undefined : 'a body where none is due';
  if (headers['content-type'] !== 'application/json') return 'not application/json';
  if (request.kind === 'good call' && /"code":(?!3,)/.test(text)) return 'an error for a good call';
  return breachOfBody(text, items, status);
}

function breachOfBody(text: string, due: DueItem | readonly DueItem[], status: number): string | undefined {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  if (!Array.isArray(due)) return breachOfItem(response, due as DueItem, status);
  if (!Array.isArray(response)) return 'not an array';
  if (response.length !== due.length) return `${response.length} responses instead of ${due.length}`;
  for (const [index, item] of due.entries()) {
    const breach = breachOfItem(response[index], item as DueItem, 200);
    if (breach !== undefined) return `item ${index}: ${breach}`;
  }
  return undefined;
}

function breachOfItem(response: unknown, { id, codes }: DueItem, status: number): string | undefined {
  if (typeof response !== 'object' || response === null) return 'not an object';
  const { jsonrpc, error, ...rest } = response as Json;
  if (jsonrpc !== '2.0') return 'jsonrpc is not 2.0';
  if (!('id' in rest) || !Object.is(rest['id'], id))
    return `the id is ${JSON.stringify(rest['id'])}, not ${JSON.stringify(id)}`;
  const members = Object.keys(response).sort().join();
  if (error === undefined) {
    if (members !== 'id,jsonrpc,result') return `the members are ${members}`;
    return codes === undefined && status === 200 ? undefined : 'a result where an error is due';
  }
  if (members !== 'error,id,jsonrpc') return `the members are ${members}`;
  return breachOfError(error as Json, codes);
}

function breachOfError(
  { code, message, data, ...rest }: Json,
  codes: readonly number[] | undefined,
): string | undefined {
  if (Object.keys(rest).length > 0) return `the error has ${Object.keys(rest).join()}`;
  if (typeof code !== 'number' || !Number.isSafeInteger(code)) return 'the code is no whole number';
  if (typeof message !== 'string' || message === '') return 'there is no message';
  if (data !== undefined && (typeof data !== 'string' || !/^0x([0-9a-f]{2})*$/i.test(data)))
    return 'data is not hexadecimal';
  if (codes !== undefined) return codes.includes(code) ? undefined : `code ${code} in place of ${codes.join(' or ')}`;
  // Errors of the gateway or of a node for a well-formed call.
  const isRevert = code === 3 && message.startsWith('execution reverted');
  return isRevert || (code <= -32000 && code !== -32700 && code !== -32600) ? undefined : `code ${code}: ${message}`;
}

/** The contract, in the order in which it is applied, independent of the gateway's code. */
function dueOf({ verb, path, headers, body }: FuzzRequest, { base, key }: ContractOptions): Due {
  const whole = (statuses: number[], ...codes: number[]): Due => ({ statuses, items: { id: null, codes } });
  if (path.startsWith(base.replace('/v3/', '/ws/v3/'))) return whole([426], -32600);
  if (!path.startsWith(base)) return whole([404], -32002);
  if (verb === 'OPTIONS') return { statuses: [204], items: undefined };
  if (verb !== 'POST') return whole([405], -32600);
  if (path !== base + key) return whole([401, 429], -32002, -32005);
  if (headers['content-encoding'] === 'gzip') return whole([400], -32700);
  if (headers['content-encoding'] !== undefined) return whole([415], -32600);
  if (Buffer.byteLength(body) > 5_000_000) return whole([413], -32600);
  if (exceeds(body, { depth: 64, values: 200_000 })) return whole([400], -32600);
  let parsed: unknown;
  try {
    parsed = JSON.parse(Buffer.from(body).toString());
  } catch {
    return whole([400], -32700);
  }
  if (!Array.isArray(parsed)) return dueOfLone(dueItem(parsed));
  if (parsed.length === 0) return whole([200], -32600);
  if (parsed.length > 1000) return { statuses: [200], items: [{ id: firstId(parsed), codes: [-32600] }] };
  const items = parsed.map(dueItem).filter((item) => item !== undefined);
  return items.length === 0 ? { statuses: [204], items: undefined } : { statuses: [200], items };
}

/** The id of the first request with an id. */
function firstId(batch: readonly unknown[]): unknown {
  const items = batch.map(dueItem).filter((item) => item !== undefined);
  return items.find(({ id }) => id !== null)?.id ?? null;
}

function dueOfLone(item: DueItem | undefined): Due {
  if (item === undefined) return { statuses: [204], items: undefined };
  return { statuses: [item.codes?.[0] === -32600 ? 400 : 200], items: item };
}

/** Undefined: a notification. */
function dueItem(item: unknown): DueItem | undefined {
  const codes = [-32600];
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return { id: null, codes };
  const { jsonrpc, id, method, params } = item as Json;
  const hasGoodId = id === undefined || id === null || ['string', 'number'].includes(typeof id);
  // The id is kept if it can be read.
  const noCall: DueItem = { id: hasGoodId ? (id ?? null) : null, codes };
  if (jsonrpc !== '2.0' || !hasGoodId || typeof method !== 'string') return noCall;
  if (params !== undefined && typeof params !== 'object') return noCall;
  if (id === undefined) return undefined;
  return { id, codes: params === undefined || params === null || Array.isArray(params) ? undefined : [-32602] };
}
