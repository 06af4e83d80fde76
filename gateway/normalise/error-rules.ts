import type { FailureClass } from '../upstream/reply.ts';

export interface ErrorRule {
  readonly means: 'final' | 'not-found' | FailureClass;
  /** Both must match where both are given. Messages are anchored: a contract may have written the rest. */
  readonly code?: number;
  readonly message?: RegExp;
  readonly client: string;
}

/** The first row that matches decides. Reverts were told apart before. */
export const errorRules: readonly ErrorRule[] = [
  // Halts of the EVM and transactions that no node would take: the same everywhere.
  { means: 'final', message: /^EVM error \w+$/, client: 'anvil 1.7.1 recorded' },
  { means: 'final', message: /^invalid opcode(: |$)/, client: 'geth' },
  {
    means: 'final',
    message:
      /^(out of gas|contract creation code storage out of gas|gas uint64 overflow|nonce uint64 overflow|write protection|return data out of bounds|max call depth exceeded|contract address collision)$/,
    client: 'geth',
  },
  { means: 'final', message: /^(stack underflow|stack limit reached) /, client: 'geth' },
  {
    means: 'final',
    message: /^(invalid jump destination|invalid code: |max code size exceeded|max initcode size exceeded)/,
    client: 'geth',
  },
  { means: 'final', message: /^(Out of gas: )?gas required exceeds allowance/, client: 'geth; anvil 1.7.1 recorded' },
  { means: 'final', message: /^insufficient (funds|balance) for (gas|transfer)/i, client: 'geth; anvil; zkSync Era' },
  { means: 'final', message: /^intrinsic gas too (low|high)/, client: 'geth; anvil 1.7.1 recorded' },
  { means: 'final', message: /^nonce too (low|high)/i, client: 'geth; zkSync Era with code 3' },
  { means: 'final', message: /^max(imum)? (fee|priority fee) per gas /, client: 'geth' },
  { means: 'final', message: /^failed to validate the transaction\. reason: /, client: 'zkSync Era with code 3' },
  { means: 'final', message: /^failed with \d+ gas: /, client: 'geth' },

  { means: 'not-found', code: -32001, message: /^Resource not found$/, client: 'anvil 1.7.1 recorded; EIP-1474' },

  // A node that does not have what the call needs; another may.
  { means: 'node-state', code: 4444, client: 'geth, reth, besu, nethermind: pruned history unavailable' },
  {
    means: 'node-state',
    message: /^(header not found|header for hash not found|unknown block|block not found(: .*)?)$/i,
    client: 'geth; anvil',
  },
  { means: 'node-state', message: /^missing trie node /, client: 'geth' },
  { means: 'node-state', message: /^transaction indexing is in progress$/, client: 'geth 1.13.11' },
  {
    means: 'node-state',
    message: /^(header found, but block body is missing|hash is not currently canonical)$/,
    client: 'geth',
  },
  { means: 'node-state', message: /^(finalized|safe) block not found$/, client: 'geth' },
  { means: 'node-state', message: /^pending block is not available$/, client: 'geth' },
  { means: 'node-state', message: /^historical state .* is not available$/, client: 'geth, path scheme' },
  { means: 'node-state', message: /^execution aborted \(timeout = /, client: 'geth' },
  { means: 'node-state', code: -32001, message: /^Resource not found$/, client: 'anvil 1.7.1 recorded: EIP-1898 hash' },
  { means: 'node-state', code: -32602, message: /^BlockOutOfRangeError: /, client: 'anvil 1.7.1 recorded' },
  { means: 'node-state', code: -32602, message: /^Block with such an ID doesn't exist yet$/, client: 'zkSync Era' },
  { means: 'node-state', code: -32602, message: /^Block with such an ID is pruned; /, client: 'zkSync Era' },
  { means: 'node-state', code: 6, message: /^Tree API is temporarily unavailable$/, client: 'zkSync Era' },

  // What an upstream has had enough of.
  { means: 'too-large', code: -32003, message: /^response too large/i, client: 'geth' },
  { means: 'too-large', code: -32602, message: /^Query returned more than /, client: 'zkSync Era; Infura' },
  { means: 'rate', code: 429, client: 'Alchemy; zkSync Era with HTTP 200; bare bodies' },
  { means: 'rate', code: -32005, client: 'Infura, Chainstack, Tenderly; EIP-1474 limit exceeded' },
  { means: 'rate', code: -32007, client: 'QuickNode, bare body' },
  { means: 'rate', code: -32016, message: /^over rate limit/i, client: 'proxyd' },
  { means: 'rate', code: -32009, client: 'jsonrpsee (zkSync Era, reth) server is busy or shutting down' },
  { means: 'rate', code: -32002, message: /^request timed out$/, client: 'geth' },
  { means: 'quota', code: 402, client: 'Infura; bare bodies' },
  { means: 'quota', message: /^Monthly capacity limit exceeded/, client: 'Alchemy with -32600' },
  { means: 'transport', code: 503, client: 'zkSync Era with HTTP 200; bare bodies' },
  { means: 'auth', message: /^Must be authenticated!/, client: 'Alchemy with -32600' },
  {
    means: 'auth',
    code: -32002,
    message: /^(invalid project id|project id required|rejected due to project ID)/,
    client: 'Infura',
  },
  { means: 'unsupported', code: -32601, client: 'all' },
  { means: 'unsupported', code: -32004, message: /not supported/i, client: 'EIP-1474' },

  // The parameters passed our check, and still the node finds them wrong: so would the next one.
  { means: 'final', code: -32602, client: 'all' },
];
