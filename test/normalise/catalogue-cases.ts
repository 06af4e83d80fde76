import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../gateway/config/package.ts';
import { methods } from '../../gateway/spec/methods.generated.ts';

/** An entry of the team's catalogue of node variants; its folder is not part of this repository. */
export interface Case {
  readonly id: string;
  readonly client: string;
  readonly method: string;
  readonly kind: string;
  readonly evidence: 'observed' | 'verbatim' | 'template' | 'inferred';
  readonly upstream_response: unknown;
  readonly http_status: number | null;
  readonly expected: Expected;
}

export interface Expected {
  readonly action: string;
  readonly error?: { readonly code: number; readonly message: string; readonly data?: string };
  readonly result?: unknown;
  readonly result_patch?: Readonly<Record<string, unknown>>;
  readonly keep?: readonly string[];
  readonly class?: string;
  readonly if_exhausted?: string;
  readonly needs?: string;
  readonly fallback?: { readonly code: number; readonly message: string; readonly data?: string } | null;
  readonly undetectable?: boolean;
}

const file = join(packageRoot, '../shared/data/node-variants.json');

/** Undefined if the catalogue is absent. */
export function readCases(): readonly Case[] | undefined {
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as Case[]) : undefined;
}

/** Cases in which the gateway deviates from the catalogue, with the reason. */
const overruled: Readonly<Record<string, string>> = {
  'obs-hardhat-3-18-0-shape-tx-legacy': 'design §5: chainId unchanged, never added',
  'obs-ganache-cli-6-12-2-shape-tx-legacy': 'design §5: chainId and type unchanged, never added',
  'obs-ganache-cli-6-12-2-shape-receipt-legacy': 'design §5: a field that a node omits is null, never computed',
  'obs-anvil-1-7-1-protocol-batch': 'the response to a batch: the gateway sends calls one by one',
  'glif-batch-refused': 'the response to a batch: the gateway sends calls one by one',
  'unichain-deposit-tx': 'design §5: chainId unchanged, never added',
};

/** Why a case is excluded; undefined: it is tested. */
export function reasonToLeaveOut({ id, method, evidence, expected }: Case): string | undefined {
  if (overruled[id] !== undefined) return overruled[id];
  if (expected.undetectable === true) return 'undetectable';
  if (['open_question', 'inspect', 'prevent'].includes(expected.action)) return `expected is ${expected.action}`;
  if (evidence === 'inferred') return 'evidence is inferred';
  return methodOf({ method }) === undefined ? `${method} is not served` : undefined;
}

/** The method of a case; some cases apply to any method. */
export function methodOf({ method }: Pick<Case, 'method'>): string | undefined {
  if (method.startsWith('(')) return 'eth_getStorageAt';
  return methods.find(({ name, handledBy: response }) => name === method && response !== 'local')?.name;
}

const address = `0x${'11'.repeat(20)}`;
const hash = `0x${'ab'.repeat(32)}`;
const call = { from: address, to: `0x${'22'.repeat(20)}`, data: '0x12345678' };

const params: Readonly<Record<string, readonly unknown[]>> = {
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

/** Parameters that match the case's result. */
export function paramsOf(name: string, { upstream_response: body }: Case): readonly unknown[] {
  const given = params[name] ?? [];
  const [identified] = methods.find((method) => method.name === name)?.identity ?? [];
  const result = (body as { result?: Readonly<Record<string, unknown>> | null }).result;
  const identity = identified?.kind === 'hash' ? result?.[identified.field] : undefined;
  return typeof identity === 'string' ? given.with(0, identity) : given;
}

/** The body as the node would send it to a call with this id. */
export function bodyOf(body: unknown, id: unknown): string {
  if (typeof body === 'string') return body;
  if (Array.isArray(body)) return `[${body.map((one) => bodyOf(one, id)).join(',')}]`;
  const object = body as { id?: unknown };
  if (object.id === undefined || object.id === null) return JSON.stringify(object);
  return JSON.stringify({ ...object, id: typeof object.id === 'string' ? String(id) : id });
}
