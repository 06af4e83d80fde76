import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { keccak256, parseGwei, toHex, type Hex } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { packageRoot } from '../../../gateway/config/package.ts';
import { CHAIN_ID, withNodes, type WithNodes } from '../../routing/with-nodes.ts';

export const send = 'eth_sendRawTransaction';
export const sendAndWait = 'eth_sendRawTransactionSync';

const cases = readFileSync(join(packageRoot, 'test/cases/eth_sendRawTransactionSync.io'), 'utf8');
const [, result = ''] = /^<< (.*)$/m.exec(cases) ?? [];
export const { result: receipt } = JSON.parse(result) as { readonly result: object };

export const account = privateKeyToAccount(toHex(0xa11cen, { size: 32 }));

/** A signed transaction of the account. */
export function sign(nonce: number): Promise<Hex> {
  return account.signTransaction({
    type: 'eip1559',
    chainId: CHAIN_ID,
    nonce,
    to: `0x${'22'.repeat(20)}`,
    gas: 21_000n,
    maxFeePerGas: parseGwei('2'),
  });
}

export const raw = await sign(3);
export const hash = keccak256(raw);

export interface Senders extends WithNodes {
  readonly sendRaw: (transaction?: string) => ReturnType<WithNodes['send']>;
  /** How many transactions each node got. */
  readonly sent: (method?: string) => number[];
}

/** Fake nodes that accept transactions, unless a test changes their responses. @param more keys of the network file */
export async function startSenders(
  count: number,
  more: object = {},
  env: Record<string, string> = {},
  keys: readonly object[] = [],
): Promise<Senders> {
  const parts = await withNodes(count, env, more, keys);
  for (const node of parts.nodes) {
    node.response(send, (params: unknown) => keccak256((params as Hex[])[0] as Hex));
    node.response('eth_getTransactionByHash', null);
    node.response('eth_getTransactionCount', '0x0');
  }
  return {
    ...parts,
    sendRaw: (transaction = raw) => parts.send(send, [transaction]),
    sent: (method = send) => parts.nodes.map((node) => node.callsOf(method).length),
  };
}
