import type { ErrorRule } from './error-rule.ts';

/** Errors of nodes without the history, index, state or time for a call. Another node may have them; never null. */
export const stateRules: readonly ErrorRule[] = [
  {
    means: 'node-state',
    codes: [4444],
    client: 'geth, reth, besu, nethermind: pruned history unavailable',
    source: 'go-ethereum core/history/historymode.go#L144; EIP-4444',
  },
  {
    means: 'node-state',
    text: /^(?:missing trie node\b|historical state (?:\S+ is )?not available|transaction indexing is in progress|header found, but block body is missing|block body not found|hash is not currently canonical|(?:(?:finalized|safe) (?:state|receipts)|(?:pending|earliest) (?:block|header|state|receipts)) (?:is )?not (?:found|available)|head block not available|pruned history unavailable|required historical state unavailable|(?:no )?state (?:at block|found for|not available|is not available))/i,
    client: 'geth and its forks; lotus',
    source:
      'go-ethereum eth/api_backend.go, eth/filters/filter.go, internal/ethapi/errors.go#L67-86; lotus api/api_errors.go#L36',
  },
  {
    means: 'node-state',
    text: /^(?:no state available|world state unavailable|initial sync is still in progress|still syncing|\d+ could not be found$|receipt not available for|requested data (?:is not available|cannot be older)|receipts have been pruned|requested block is too old|old data not available|distance to target block exceeds)/i,
    client: 'nethermind, besu, parity, erigon, sei, web3-proxy, Cloudflare',
    source: 'dshackle EthereumLowerBoundStateDetector.kt#L40-92; nethermind#11214; erigon#16006, #7748',
  },
  {
    means: 'node-state',
    text: /^(?:the )?(?:node|client|chain|blockchain|upstream|server) (?:is |has )?(?:still |currently |not (?:yet )?)?(?:(?:fully )?(?:in )?sync(?:ing|ed|hroni[sz]ing|hroni[sz]ed)?|catching up)\b/i,
    client: 'nethermind 1.35: "node is syncing"; others with similar texts',
    source: 'nethermind Core/Messages/TxPoolErrorMessages.cs NodeIsSyncing; ethermint rpc/backend',
  },
  {
    means: 'node-state',
    text: /^(?:Block information is incomplete|This request is not supported because your node is running with state pruning|One of the blocks specified in filter\b|Looks like you disabled ancient block download|Requested block number is in a range that is not available yet|Node is not connected to any peers|Database error)/,
    client: 'parity, openethereum',
    source: 'openethereum crates/rpc/src/v1/helpers/errors.rs#L146-226, #L328-335, #L504-525',
  },
  {
    means: 'node-state',
    text: /^(?:Block with such an ID (?:doesn't exist yet|is pruned)|Tree API is temporarily unavailable)\b/,
    client: 'zkSync Era',
    source: 'zksync-era web3_decl/src/error.rs#L22, #L49',
  },
  {
    means: 'node-state',
    text: /^(?:unsupported block number|state recreation l2 gas depth limit exceeded|no historical RPC is available|Dependent service returned immature records)/i,
    client: 'nitro, op-geth, hedera',
    source: 'squid-sdk#559; dshackle EthereumLowerBoundStateDetector.kt#L63',
  },
  {
    means: 'no-block',
    text: /^(?:BlockOutOfRangeError\b|Received invalid block tag \d+\. Latest|specified block greater than current height|request(?:ed)? beyond head block|(?:cannot query unfinalized data)|(?:[\w ]+ )?after last accepted block|invalid block param \(block not found\)|block range extends beyond current head block)/i,
    client: 'anvil, hardhat, ethereumjs, reth, coreth, besu, geth',
    source:
      'anvil 1.7.1 and geth 1.17.5 (eth_getLogs) observed; reth error/mod.rs#L105; go-ethereum eth/filters/api.go#L40',
  },
  {
    means: 'node-state',
    text: /^(?:UnmarshalJSON cannot decode empty bytes|Tendermint RPC error\b|could not find (?:\w+ )?results for height|(?:\S+ )?height \S+ is not available|block not found for height \d+$|failed to load state at height|height must be less than or equal|could not find FinalizeBlock|Node state is pruned|Version has either been pruned)/i,
    client: 'evmos, ethermint, cronos, kava, fendermint; cometbft below them',
    source: 'evmos#693; ethermint rpc/backend; cometbft state/errors.go; dshackle EthereumLowerBoundBlockDetector.kt',
  },
  {
    means: 'node-state',
    text: /^(?:State already discarded for|Max height of block allowed|failed to compute tipset state|bad tipset height|load state tree: failed|Expect block number from id|invalid blockhash finalized)/i,
    client: 'moonbeam, bor, lotus, frontier, reth',
    source: 'dshackle EthereumLowerBoundBlockDetector.kt; erpc architecture/evm/util.go',
  },
  {
    means: 'node-state',
    text: /^Block \d+ cleaned up, does not exist on node\b/,
    client: 'agave, solana-validator (behind Neon)',
    source: 'agave rpc-client-api/src/custom_error.rs BlockCleanedUp',
  },
  {
    means: 'node-state',
    text: /^(?:QUANTITY not supported, just support TAG as latest|TAG \[[^\]]*\] not supported)$/,
    client: 'java-tron: it has only the newest state',
    source: 'java-tron TronJsonRpcImpl.java QUANTITY_NOT_SUPPORT_ERROR, TAG_NOT_SUPPORT_ERROR',
  },
  {
    // Another node may be faster, or have a longer time limit.
    means: 'node-state',
    text: /^(?:execution (?:aborted|timeout|timed out)\b|(?:the )?(?:call|operation|query|eth_\w+) (?:has )?(?:timeout|timed out)\b|timeout(?: expired| exceeded)?[.!]?$|timed out[.!]?$|context (?:deadline exceeded|canceled)|deadline exceeded|request timeout[.!]?$|execution took too long)/i,
    client: 'geth and its forks, reth, erigon, besu, nethermind; Go’s contexts',
    source:
      'go-ethereum internal/ethapi/api.go#L830; erpc architecture/evm/error_normalizer.go; besu RpcErrorType.java TIMEOUT_ERROR',
  },
  {
    means: 'no-block',
    text: /^(?:header not found|header for hash not found|unknown block|(?:finalized|safe) (?:block|header) (?:is )?not (?:found|available)|block (?:(?:with (?:hash|number) )?#?(?:0x[\da-f]{1,64}|\d{1,20}) )?(?:was )?not found|could not find block|block does not exist|(?:requested )?resource not found)\b/i,
    client: 'all',
    source:
      'go-ethereum eth/api_backend.go, eth/tracers/api.go blockByNumber; erigon#19184; erpc thirdparty/alchemy.go#L517-535; anvil 1.7.1 observed',
  },
  {
    means: 'node-state',
    methods: 'without schema',
    text: /^(?:the )?(?:state|histor(?:y|ies|ical)|ancient|block|header|requested|data|trace)\b[^]{0,120}\b(?:prun(?:ed|ing)|index(?:ed|ing)|not (?:yet )?available|unavailable)\b/i,
    client: 'geth and its forks, erigon, for traces',
    source: 'go-ethereum triedb/pathdb/reader.go; erigon rpc/jsonrpc/eth_api.go',
  },
  {
    means: 'no-block',
    methods: 'without schema',
    text: /^(?:(?:parent|block|header|canonical hash|transaction|txn?)\b[^]{0,100}\bnot found\b|(?:could ?n[o']t|cannot|can't|failed to|unable to) find (?:\w+ )?(?:block|header|transaction|tx)\b)/i,
    client: 'geth, reth, erigon, besu, nethermind, for traces: the node may lack the block, its parent or its index',
    source:
      'go-ethereum eth/tracers/api.go errTxNotFound, eth/state_accessor.go; reth rpc-eth-types/src/error/mod.rs; erigon rpc/jsonrpc/trace_adhoc.go',
  },
  {
    means: 'no-block',
    methods: 'reads',
    text: /^(?![^]*\b(?:limit\w*|max\w*|too many)\b)[^]*\b(?:beyond|past|ahead of|higher than|greater than|exceeds?|after)(?: the)?(?: (?:current|latest|chain|network|last|known|best))*(?: (?:head|height|tip|latest|accepted|block number))\b/i,
    client: 'any, with unrecorded texts: a future block',
    source: 'derived from the rows above',
  },
  {
    means: 'node-state',
    methods: 'reads',
    text: /\b(?:prun(?:ed|ing)|(?:still |not )?sync(?:ing|ed)|index(?:ing|ed)|archive|unfinalized|historical (?:state|data)|state (?:is )?unavailable|data (?:is )?(?:un|not )available|missing trie node)\b/i,
    client: 'any, with unrecorded texts',
    source: 'derived from the rows above',
  },
];
