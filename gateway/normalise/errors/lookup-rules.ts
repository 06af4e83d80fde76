import type { ErrorRule } from './error-rule.ts';

/** A proxy or a router answers 404 for an address that it does not serve. That is no evidence about the chain. */
const statuses = [200, 400];

/**
 * What nodes answer to a lookup of something that does not exist. A text counts as a whole: null is evidence about the
 * chain, and layers below a node (databases, caches, proxies) use the same words about themselves.
 */
export const lookupRules: readonly ErrorRule[] = [
  {
    means: 'node-state',
    of: 'reads',
    text: /^getReceipts? error: /,
    client: 'erigon 2, 3, bsc-erigon: it executes the block again, and the error of that follows',
    source: 'erigon v2.60 turbo/jsonrpc/eth_receipts.go, v3.0 rpc/jsonrpc/eth_receipts.go',
  },
  {
    means: 'null',
    of: 'lookups',
    codes: [-32000, -32001, -32604],
    status: statuses,
    text: /^(?:\[Request ID: [^\]]*\] |Error: |loom error: )?(?:the )?(?:requested )?(?:resource|transaction|tx|transaction hash|receipt|transaction receipt|uncle|record)(?: with hash)?(?: \(?(?:0x)?[\da-f]{64}\)?)? (?:was )?not found(?:(?: for hash)?:? (?:0x)?[\da-f]{64}| \(txHash="0x[\da-f]{64}"[^]*\))?\s*[.!]?\s*$/i,
    client: 'anvil, hedera, reth, acala (by ethers), loom (in data), BlockVision; EIP-1474',
    source: 'anvil 1.7.1 observed; loomchain#1347; bodhi.js#314; reth rpc-eth-types/src/error/mod.rs#L316',
  },
  {
    means: 'null',
    of: 'lookups',
    status: statuses,
    text: /^Key not found in database(?: \[[^\]]*\])?$/,
    client: 'ganache-cli 6',
    source: 'ganache-cli 6.12.2 observed',
  },
  {
    means: 'null',
    of: 'lookups',
    codes: [12],
    text: /^requested epoch was a null round\b/,
    client: 'lotus: that height has no block on any node',
    source: 'lotus api/api_errors.go#L212-225',
  },
  {
    means: 'null',
    of: 'lookups',
    codes: [-32602],
    text: /^Position Index is incorrect$/,
    client: 'nethermind 1.0-1.14: the block is there, and has no uncle or transaction at that index',
    source:
      'nethermind 1.10 JsonRpc/Modules/Eth/EthRpcModule.cs eth_getUncle; getblock.io docs, eth_getUncleByBlockHashAndIndex',
  },
  {
    means: 'null',
    of: 'lookups by hash',
    codes: [-32001],
    text: /^0x[\da-f]{64} could not be found$/i,
    client: 'nethermind: no block has that hash',
    source: 'nethermind 1.10 Blockchain/Find/BlockFinderExtensions.cs SearchForBlock',
  },
  {
    means: 'not-found',
    of: 'lookups by hash',
    status: statuses,
    text: /^(?:header not found|header for hash not found|unknown block|block (?:was )?not found|could not find block|block does not exist|uncle not found)(?:: (?:hash )?(?:0x)?[\da-f]{1,64})?[.!]?$/i,
    client: 'all: said of what does not exist, and of what is not there yet',
    source: 'reth error/mod.rs#L334-340; erigon#19184; go-ethereum eth/api_backend.go',
  },
];
