import type { ErrorRule } from './error-rule.ts';

/** Statuses without 404: a proxy returns it for an address that it does not serve, which proves nothing about the chain. */
const statuses = [200, 400];

/**
 * Errors of nodes for lookups of objects that do not exist. The whole text must match, because null is a statement
 * about the chain, and databases, caches and proxies use similar texts for their own data.
 */
export const lookupRules: readonly ErrorRule[] = [
  {
    means: 'node-state',
    methods: 'reads',
    text: /^getReceipts? error: /,
    client: 'erigon 2, 3, bsc-erigon: the rest is the error of executing the block again',
    source: 'erigon v2.60 turbo/jsonrpc/eth_receipts.go, v3.0 rpc/jsonrpc/eth_receipts.go',
  },
  {
    means: 'null',
    methods: 'lookups',
    codes: [-32000, -32001, -32604],
    status: statuses,
    text: /^(?:\[Request ID: [^\]]*\] |Error: |loom error: )?(?:the )?(?:requested )?(?:resource|transaction|tx|transaction hash|receipt|transaction receipt|uncle|record)(?: with hash)?(?: \(?(?:0x)?[\da-f]{64}\)?)? (?:was )?not found(?:(?: for hash)?:? (?:0x)?[\da-f]{64}| \(txHash="0x[\da-f]{64}"[^]*\))?\s{0,3}[.!]?\s{0,3}$/i,
    client: 'anvil, hedera, reth, acala (by ethers), loom (in data), BlockVision; EIP-1474',
    source: 'anvil 1.7.1 observed; loomchain#1347; bodhi.js#314; reth rpc-eth-types/src/error/mod.rs#L316',
  },
  {
    means: 'null',
    methods: 'lookups',
    status: statuses,
    text: /^Key not found in database(?: \[[^\]]*\])?$/,
    client: 'ganache-cli 6',
    source: 'ganache-cli 6.12.2 observed',
  },
  {
    means: 'null',
    methods: 'lookups',
    codes: [12],
    text: /^requested epoch was a null round\b/,
    client: 'lotus: no node has a block at that height',
    source: 'lotus api/api_errors.go#L212-225',
  },
  {
    means: 'null',
    methods: 'lookups',
    codes: [-32602],
    text: /^Position Index is incorrect$/,
    client: 'nethermind 1.0-1.14: the block exists, but has no uncle or transaction at that index',
    source:
      'nethermind 1.10 JsonRpc/Modules/Eth/EthRpcModule.cs eth_getUncle; getblock.io docs, eth_getUncleByBlockHashAndIndex',
  },
  {
    means: 'null',
    methods: 'lookups',
    codes: [-32001],
    text: /^0x[\da-f]{64} could not be found$/i,
    client: 'nethermind: no block has that hash',
    source: 'nethermind 1.10 Blockchain/Find/BlockFinderExtensions.cs SearchForBlock',
  },
  {
    means: 'not-found',
    methods: 'lookups by hash',
    status: statuses,
    text: /^(?:header not found|header for hash not found|unknown block|block (?:was )?not found|could not find block|block does not exist|uncle not found)(?:: (?:hash )?(?:0x)?[\da-f]{1,64})?[.!]?$/i,
    client: 'all: for objects that do not exist, or not yet',
    source: 'reth error/mod.rs#L334-340; erigon#19184; go-ethereum eth/api_backend.go',
  },
];
