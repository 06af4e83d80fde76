import { isObject } from '../../collections/is-object.ts';
import { isPayload } from './revert-payload.ts';

/**
 * Members of `error.data` that may have a revert's payload, in the order of the search: `data` itself (geth and most),
 * `Reverted 0x…` (parity, nethermind), `data.data` (Hardhat 2, wallets, proxies), `data.result` (ganache 7),
 * `data["0x<transaction hash>"].return` (ganache-cli 6), `data.originalError.data` (wallets).
 */
const places = ['data', 'result', 'return', 'output', 'originalError', 'error', 'cause'] as const;

/** Nodes nest up to three levels; the limit is for malicious responses. */
const MAX_DEPTH = 5;

/** Returns the first payload, or undefined. An empty payload is `0x`. */
export function findPayload(data: unknown, depth = 0): string | undefined {
  if (typeof data === 'string') return payloadIn(data);
  if (depth === MAX_DEPTH || !isObject(data)) return undefined;
  for (const place of places) {
    const found = data[place] === undefined ? undefined : findPayload(data[place], depth + 1);
    if (found !== undefined) return found;
  }
  for (const name of Object.keys(data).slice(0, 4)) {
    const found = /^0x[\da-f]{64}$/i.test(name) ? findPayload(data[name], depth + 1) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}

function payloadIn(text: string): string | undefined {
  // parity and nethermind write `Reverted`. java-tron and others omit 0x: then only Solidity's own selectors count.
  const bare = /^(?:08c379a0|4e487b71)/i.test(text) ? `0x${text}` : text.replace(/^Reverted (?=0x)/, '');
  return isPayload(bare) ? bare : undefined;
}
