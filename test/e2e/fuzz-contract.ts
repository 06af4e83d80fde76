import { exceeds } from '../../gateway/json/nesting.ts';
import type { FuzzRequest } from './fuzz-requests.ts';
import { rawItems, rawMembers } from './raw-json.ts';

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
export interface Due {
  readonly statuses: readonly number[];
  /** Items of the body; undefined: no body. An array: a batch, item by item. */
  readonly items: DueItem | readonly DueItem[] | undefined;
}

interface DueItem {
  /** Texts of which the id is one, byte for byte: an envelope with two ids or a re-cased one has several. */
  readonly ids: readonly string[];
  /** Allowed error codes. Undefined: any error of a node, or a result. */
  readonly codes: readonly number[] | undefined;
}

type Json = Readonly<Record<string, unknown>>;

/** Checks one response as clients may rely on. @returns the violation, or undefined */
export function breachOf(request: FuzzRequest, response: FuzzResponse, options: ContractOptions): string | undefined {
  const { status, headers, text } = response;
  if (!/^[0-9a-f]{6}-[0-9a-z]+$/.test(String(headers['x-request-id']))) return 'no X-Request-Id';
  if (headers['access-control-allow-origin'] !== '*') return 'no CORS header';
  const leak = leakIn(text, options.secrets);
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

/** @returns a text that no caller may get */
export function leakIn(text: string, secrets: readonly string[]): string | undefined {
  return [...secrets, '    at ', 'node_modules', '.ts:', '.js:'].find((secret) => text.includes(secret));
}

/** Checks the body of a response, or a WebSocket message. @returns the violation, or undefined */
export function breachOfBody(text: string, due: DueItem | readonly DueItem[], status: number): string | undefined {
  let response: unknown;
  try {
    response = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  if (!Array.isArray(due)) return breachOfItem(response, text, due as DueItem, status);
  if (!Array.isArray(response)) return 'not an array';
  if (response.length !== due.length) return `${response.length} responses instead of ${due.length}`;
  const texts = rawItems(text);
  for (const [index, item] of due.entries()) {
    const breach = breachOfItem(response[index], texts[index] ?? '', item as DueItem, 200);
    if (breach !== undefined) return `item ${index}: ${breach}`;
  }
  return undefined;
}

function breachOfItem(response: unknown, text: string, { ids, codes }: DueItem, status: number): string | undefined {
  if (typeof response !== 'object' || response === null || Array.isArray(response)) return 'not an object';
  const { jsonrpc, error } = response as Json;
  if (jsonrpc !== '2.0') return 'jsonrpc is not 2.0';
  const written = rawMembers(text);
  const id = written.find(([name]) => name === 'id')?.[1];
  if (id === undefined || !ids.includes(id)) return `the id is ${id ?? 'absent'}, not ${ids.join(' or ')}`;
  const members = written
    .map(([name]) => name)
    .sort()
    .join();
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
function dueOf({ kind, verb, path, headers, body, isGzip }: FuzzRequest, { base, key }: ContractOptions): Due {
  const whole = (statuses: number[], ...codes: number[]): Due => ({ statuses, items: { ids: ['null'], codes } });
  if (path.startsWith(base.replace('/v3/', '/ws/v3/'))) return whole([426], -32600);
  if (!path.startsWith(base)) return whole([404], -32002);
  if (verb === 'OPTIONS') return { statuses: [204], items: undefined };
  if (verb !== 'POST') return whole([405], -32600);
  if (path !== base + key) return whole([401, 429], -32002, -32005);
  if (isGzip !== true && headers['content-encoding'] === 'gzip') return whole([400], -32700);
  if (isGzip !== true && headers['content-encoding'] !== undefined) return whole([415], -32600);
  const due = dueOfText(body);
  if (kind !== 'odd parameters' || due.items === undefined || Array.isArray(due.items)) return due;
  return { ...due, items: { ...(due.items as DueItem), codes: [-32602] } };
}

/** The contract for the text of a body, or of a WebSocket message. */
export function dueOfText(body: string): Due {
  const whole = (statuses: number[], ...codes: number[]): Due => ({ statuses, items: { ids: ['null'], codes } });
  if (Buffer.byteLength(body) > 5_000_000) return whole([413], -32600);
  // The gateway bounds the values of a call.
  const values = body.trimStart().startsWith('[') ? 200_000 : 20_000;
  if (exceeds(Buffer.from(body), { depth: 64, values })) return whole([400], -32600);
  const text = Buffer.from(body).toString();
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return whole([400], -32700);
  }
  if (!Array.isArray(parsed)) return dueOfLone(dueItem(parsed, text));
  if (parsed.length === 0) return whole([200], -32600);
  const texts = rawItems(text);
  const items = parsed.map((item, at) => dueItem(item, texts[at] ?? '')).filter((item) => item !== undefined);
  if (parsed.length > 1000) return { statuses: [200], items: [{ ids: firstIds(items), codes: [-32600] }] };
  return items.length === 0 ? { statuses: [204], items: undefined } : { statuses: [200], items };
}

/** The id of the first request with an id. */
function firstIds(items: readonly DueItem[]): readonly string[] {
  return items.find(({ ids }) => !ids.includes('null'))?.ids ?? ['null'];
}

function dueOfLone(item: DueItem | undefined): Due {
  if (item === undefined) return { statuses: [204], items: undefined };
  return { statuses: [item.codes?.[0] === -32600 ? 400 : 200], items: item };
}

const known = ['jsonrpc', 'id', 'method', 'params'];
const fold = (name: string): string => name.toLowerCase().replaceAll('ſ', 's');

/** Item that is due; undefined: a notification. */
function dueItem(item: unknown, text: string): DueItem | undefined {
  const codes = [-32600];
  if (typeof item !== 'object' || item === null || Array.isArray(item)) return { ids: ['null'], codes };
  const members = rawMembers(text);
  const names = members.map(([name]) => name);
  const isOdd = names.some(
    (name, at) => known.includes(fold(name)) && (fold(name) !== name || names.indexOf(name) < at),
  );
  if (isOdd) return { ids: ['null', ...members.filter(([name]) => fold(name) === 'id').map(([, id]) => id)], codes };
  const { jsonrpc, id, method, params } = item as Json;
  const hasGoodId = id === undefined || id === null || ['string', 'number'].includes(typeof id);
  // The id is kept if it can be read.
  const ids = [(hasGoodId ? members.find(([name]) => name === 'id')?.[1] : undefined) ?? 'null'];
  if (jsonrpc !== '2.0' || !hasGoodId || typeof method !== 'string') return { ids, codes };
  if (params !== undefined && typeof params !== 'object') return { ids, codes };
  if (id === undefined) return undefined;
  return { ids, codes: params === undefined || params === null || Array.isArray(params) ? undefined : [-32602] };
}
