import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { packageRoot } from '../../gateway/config/package.ts';
import { normalise } from '../../gateway/normalise/normalise.ts';
import type { Outcome } from '../../gateway/upstreams/outcome.ts';
import { Secrets } from '../../gateway/upstreams/transport/credentials.ts';
import { readResponse } from '../../gateway/upstreams/transport/read-response.ts';
import { parseResponse, UpstreamFailure } from '../../gateway/upstreams/transport/upstream-response.ts';
import { specOf } from './normalised.ts';

/** An entry of test/recorded; anvil.yaml describes the fields. */
export interface Recorded {
  readonly file: string;
  readonly name?: string;
  readonly client: string;
  readonly version: string;
  readonly evidence: 'recorded' | 'printed' | 'made from source';
  readonly source?: string;
  readonly method: string;
  readonly params?: readonly unknown[];
  readonly status?: number;
  readonly upstreamResponse?: Response;
  readonly body?: unknown;
  readonly response?: 'unchanged' | Response;
  readonly changed?: object;
  readonly dropped?: readonly string[];
  readonly failure?: string;
  readonly retryAfterMs?: number;
  readonly withPayload?: Response;
}

export interface Response {
  readonly result?: unknown;
  readonly error?: { readonly code?: number; readonly message?: string; readonly data?: unknown };
}

const folder = join(packageRoot, 'test/recorded');

export const recorded: readonly Recorded[] = readdirSync(folder)
  .sort()
  .flatMap((file) =>
    (parse(readFileSync(join(folder, file), 'utf8')) as Omit<Recorded, 'file'>[]).map((entry) => ({ ...entry, file })),
  );

/** Client, version, method, and the name, or else the message. */
export function titleOf({ name, client, version, method, upstreamResponse, body }: Recorded): string {
  const text = name ?? upstreamResponse?.error?.message ?? JSON.stringify(upstreamResponse ?? body);
  return `${client} ${version}, ${method}: ${text.slice(0, 100)}`;
}

/** The bytes that the upstream sends to a call with this id. */
export function bodyOf({ upstreamResponse, body }: Recorded, id: unknown): string {
  if (upstreamResponse !== undefined) return JSON.stringify({ jsonrpc: '2.0', id, ...upstreamResponse });
  return typeof body === 'string' ? body : JSON.stringify(withId(body, id));
}

/** A recorded id is a number, a string of digits or null; null stays. */
function withId(body: unknown, id: unknown): unknown {
  if (Array.isArray(body)) return body.map((one) => withId(one, id));
  const given = (body as { id?: unknown }).id;
  if (given === undefined || given === null) return body;
  return { ...(body as object), id: typeof given === 'string' ? String(id) : id };
}

const none = new Secrets();

/** The outcome, or the failure with which the response is not even read. */
export function classifyEntry(entry: Recorded): Outcome | { readonly final: false; readonly failure: string } {
  try {
    const response = readResponse({ status: entry.status ?? 200, body: Buffer.from(bodyOf(entry, 1)) }, 1, none);
    return normalise(specOf(entry.method), paramsOf(entry), parseResponse(response));
  } catch (error) {
    if (error instanceof UpstreamFailure) return { final: false, failure: error.failure };
    throw error;
  }
}

const address = `0x${'11'.repeat(20)}`;
const hash = `0x${'ab'.repeat(32)}`;
const call = { from: address, to: `0x${'22'.repeat(20)}`, data: '0x12345678' };

/** The parameters of entries without their own. */
const usualParams: Readonly<Record<string, readonly unknown[]>> = {
  eth_getStorageAt: [address, '0x0', 'latest'],
  eth_getBlockByHash: [hash, false],
  eth_getBlockByNumber: ['pending', false],
  eth_getUncleByBlockHashAndIndex: [hash, '0x0'],
  eth_getTransactionByHash: [hash],
  eth_getTransactionReceipt: [hash],
  eth_estimateGas: [call],
  eth_call: [call, 'latest'],
  eth_getBalance: [address, 'latest'],
  eth_getLogs: [{ fromBlock: '0x1', toBlock: '0x2' }],
  eth_getProof: [address, [], 'latest'],
  eth_sendRawTransaction: ['0x02'],
  zks_estimateFee: [call],
};

/** The parameters of a call to which the result belongs. */
export function paramsOf(entry: Recorded): readonly unknown[] {
  const { method, params } = entry;
  if (params !== undefined) return params;
  const usual = usualParams[method] ?? [];
  const [identified] = specOf(method).identity ?? [];
  const result = givenBy(entry).result as Readonly<Record<string, unknown>> | null | undefined;
  const identity = identified?.kind === 'hash' ? result?.[identified.field] : undefined;
  return typeof identity === 'string' ? usual.with(0, identity) : usual;
}

/** The response to the caller that the entry requires; undefined if it requires a failure. */
export function expectedResponse(entry: Recorded): Response | undefined {
  const { response, changed, dropped, failure } = entry;
  if (failure !== undefined) return undefined;
  const { result, error } = givenBy(entry);
  if (response === 'unchanged') return error === undefined ? { result } : { error };
  if (response !== undefined) return response;
  const fields = Object.entries({ ...(result as object), ...changed });
  return { result: Object.fromEntries(fields.filter(([name]) => dropped?.includes(name) !== true)) };
}

/** The result or error of the upstream, from its envelope or the whole body. */
export function givenBy({ upstreamResponse, body }: Recorded): Response {
  return upstreamResponse ?? ((Array.isArray(body) ? body[0] : body) as Response);
}
