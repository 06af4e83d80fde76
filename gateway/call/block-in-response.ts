import type { ServedBlock } from '../chain/chain.ts';
import type { UpstreamResponse } from '../upstreams/transport/upstream-response.ts';

/** The block whose number the response is. */
export function headIn(response: UpstreamResponse): ServedBlock | undefined {
  return response.kind === 'result' ? blockOf(response.result) : undefined;
}

/** The block of the last log, which is the newest: logs are in chain order. */
export function newestLogIn(response: UpstreamResponse): ServedBlock | undefined {
  if (response.kind === 'large') {
    const bytes = response.parts[response.parts.length - 1] ?? response.parts[0];
    return blockOf(textAtEnd('"blockNumber":"', bytes), textAtEnd('"blockHash":"', bytes));
  }
  const logs = response.kind === 'result' && Array.isArray(response.result) ? (response.result as unknown[]) : [];
  const { blockNumber, blockHash } = (logs.at(-1) ?? {}) as Readonly<Record<string, unknown>>;
  return blockOf(blockNumber, blockHash);
}

function textAtEnd(name: string, bytes: Buffer): string | undefined {
  const at = bytes.lastIndexOf(name);
  return at === -1
    ? undefined
    : /^0x[0-9a-f]+/i.exec(bytes.toString('latin1', at + name.length, at + name.length + 66))?.[0];
}

function blockOf(number: unknown, hash?: unknown): ServedBlock | undefined {
  if (typeof number !== 'string' || !/^0x[0-9a-f]{1,16}$/i.test(number)) return undefined;
  return { number: BigInt(number), hash: typeof hash === 'string' ? hash.toLowerCase() : undefined };
}
