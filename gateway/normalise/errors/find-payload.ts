import { isPayload } from './revert-payload.ts';

/**
 * Where a revert's payload stands in `error.data`, in the order in which it is looked for:
 * `data` by itself (geth and most), `Reverted 0x…` (parity, nethermind), `data.data` (Hardhat 2, wallets, proxies),
 * `data.result` (ganache 7), `data["0x<transaction hash>"].return` (ganache-cli 6), `data.originalError.data` (wallets).
 */
const places = ['data', 'result', 'return', 'output', 'originalError', 'error', 'cause'] as const;

/** Nodes wrap two or three deep; who wraps deeper hides something. */
const DEPTH_MAX = 5;

/** The first bytes that are found; undefined where there are none. An empty payload is `0x`. */
export function findPayload(data: unknown, depth = 0): string | undefined {
  if (typeof data === 'string') return payloadIn(data);
  if (depth === DEPTH_MAX || typeof data !== 'object' || data === null || Array.isArray(data)) return undefined;
  const object = data as Readonly<Record<string, unknown>>;
  for (const place of places) {
    const found = object[place] === undefined ? undefined : findPayload(object[place], depth + 1);
    if (found !== undefined) return found;
  }
  for (const name of Object.keys(object).slice(0, 4)) {
    const found = /^0x[\da-f]{64}$/i.test(name) ? findPayload(object[name], depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function payloadIn(text: string): string | undefined {
  // parity and nethermind; java-tron and others leave the prefix out, where only Solidity's own selectors tell.
  const bare = /^(?:08c379a0|4e487b71)/i.test(text) ? `0x${text}` : text.replace(/^Reverted (?=0x)/, '');
  return isPayload(bare) ? bare : undefined;
}
