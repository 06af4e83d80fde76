import type { Meaning } from './classify.ts';

export interface ErrorRule {
  readonly means: Meaning;
  /** All that is given must fit. Texts are anchored where the method executes: a contract may have written the rest. */
  readonly codes?: readonly number[];
  readonly text?: RegExp;
  /** Of HTTP. */
  readonly status?: readonly number[];
  /** A method, or a kind of methods: `reads` are of the spec and execute nothing, so that no contract's text is in their errors. */
  readonly of?: 'lookups' | 'lookups by hash' | 'reads' | (string & {});
  readonly client: string;
  readonly source: string;
}

/** The first row that knows the error decides. Reverts and halts were told apart before. */
export const errorRules: readonly ErrorRule[] = [
  // There is no such thing, says a node that would know.
  {
    means: 'null',
    of: 'lookups',
    text: /^(?:the )?(?:requested )?(?:resource|transaction|tx|transaction hash|receipt|transaction receipt|uncle|record)(?: with hash)?(?: \(?0?x?[\da-f]{64}\)?)? (?:was )?not found\b\s*[.!]?\s*(?:\(|for hash\b|$)/i,
    client: 'anvil, hedera, reth, acala, loom (in data), BlockVision; EIP-1474',
    source: 'anvil 1.7.1 observed; loomchain#1347; bodhi.js#314; reth rpc-eth-types/src/error/mod.rs#L316',
  },
  {
    means: 'null',
    of: 'lookups',
    text: /^Key not found in database\b/,
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
  // What a node without the history, the index or the state says. Another may have it; never null.
  {
    means: 'node-state',
    codes: [4444],
    client: 'geth, reth, besu, nethermind: pruned history unavailable',
    source: 'go-ethereum core/history/historymode.go#L144; EIP-4444',
  },
  {
    means: 'node-state',
    text: /^(?:missing trie node\b|historical state \S+ is not available|transaction indexing is in progress|header found, but block body is missing|hash is not currently canonical|(?:finalized|safe|pending) block (?:is )?not (?:found|available)|pruned history unavailable|required historical state unavailable|execution aborted \(timeout = |state (?:at block|not available|is not available))/i,
    client: 'geth and its forks; lotus',
    source: 'go-ethereum eth/api_backend.go, internal/ethapi/errors.go#L67-86; lotus api/api_errors.go#L36',
  },
  {
    means: 'node-state',
    text: /^(?:no state available|world state unavailable|initial sync is still in progress|still syncing|\d+ could not be found$|receipt not available for|requested data (?:is not available|cannot be older)|receipts have been pruned|requested block is too old|old data not available|distance to target block exceeds)/i,
    client: 'nethermind, besu, parity, erigon, sei, web3-proxy, Cloudflare',
    source: 'dshackle EthereumLowerBoundStateDetector.kt#L40-92; nethermind#11214; erigon#16006, #7748',
  },
  {
    means: 'node-state',
    text: /^(?:Block information is incomplete|This request is not supported because your node is running with state pruning|One of the blocks specified in filter\b)/,
    client: 'parity, openethereum',
    source: 'openethereum errors.rs#L146-152, #L214-220, #L504-515',
  },
  {
    means: 'node-state',
    text: /^(?:Block with such an ID (?:doesn't exist yet|is pruned)|Tree API is temporarily unavailable)\b/,
    client: 'zkSync Era',
    source: 'zksync-era web3_decl/src/error.rs#L22, #L49',
  },
  {
    means: 'node-state',
    text: /^(?:unsupported block number|no historical RPC is available|Dependent service returned immature records)/i,
    client: 'nitro, op-geth, hedera',
    source: 'squid-sdk#559; dshackle EthereumLowerBoundStateDetector.kt#L63',
  },
  {
    means: 'no-block',
    text: /^(?:BlockOutOfRangeError\b|Received invalid block tag \d+\. Latest|specified block greater than current height|request(?:ed)? beyond head block|(?:cannot query unfinalized data)|(?:[\w ]+ )?after last accepted block|invalid block param \(block not found\)|block range extends beyond current head block$)/i,
    client: 'anvil, hardhat, ethereumjs, reth, coreth, besu, geth',
    source: 'anvil 1.7.1 and geth 1.17.5 (eth_getLogs) observed; reth error/mod.rs#L105',
  },
  {
    means: 'node-state',
    text: /^(?:UnmarshalJSON cannot decode empty bytes|Tendermint RPC error\b|could not find results for height|height \d+ is not available|block not found for height \d+$|failed to load state at height)/,
    client: 'evmos, ethermint, fendermint',
    source: 'evmos#693; ethermint rpc/backend; consensus-shipyard/ipc',
  },
  {
    means: 'not-found',
    of: 'lookups by hash',
    text: /^(?:header not found|header for hash not found|unknown block|block (?:was )?not found|could not find block|block does not exist|uncle not found)\b/i,
    client: 'all: said of what does not exist, and of what is not there yet',
    source: 'reth error/mod.rs#L334-340; erigon#19184; go-ethereum eth/api_backend.go',
  },
  {
    means: 'no-block',
    text: /^(?:header not found|header for hash not found|unknown block|block (?:was )?not found|could not find block|block does not exist|(?:requested )?resource not found)\b/i,
    client: 'all',
    source: 'go-ethereum eth/api_backend.go; erigon#19184; erpc thirdparty/alchemy.go#L517-535; anvil 1.7.1 observed',
  },
  {
    means: 'node-state',
    of: 'reads',
    text: /\b(?:prun(?:ed|ing)|(?:still |not )?sync(?:ing|ed)|index(?:ing|ed)|archive|unfinalized|historical (?:state|data)|state (?:is )?unavailable|data (?:is )?(?:un|not )available|missing trie node)\b/i,
    client: 'any, in words that we have not seen',
    source: 'what the rows above have in common',
  },

  // What an upstream lacks, will not do for us, or has had enough of.
  {
    means: 'unsupported',
    codes: [-32601, -32201, -32612, -32613],
    client: 'all; rskj; QuickNode',
    source: 'JSON-RPC 2.0; RskJsonRpcRequestException.java#L82-84; erpc thirdparty/quicknode.go#L585',
  },
  {
    means: 'unsupported',
    codes: [-32004],
    text: /\b(?:not|un)[ -]?supported\b/i,
    client: 'EIP-1474, hardhat',
    source: 'EIP-1474; hardhat 3.18 observed',
  },
  {
    means: 'unsupported',
    text: /^(?:(?:the )?(?:rpc )?method(?: '?\w+'?)? (?:(?:is )?not (?:found|supported|implemented|enabled|available|allowed|whitelisted)|does not exist|disabled)|method: \w+\s+: web3 method not found|not implemented$|This request is not implemented yet|"?\w+"? is not yet supported)/i,
    client: 'besu -32604, IoTeX -32603, parity -32000, ganache -32700 and -32000, proxyd',
    source: 'iotex-core api/web3server.go; openethereum errors.rs#L62-69; ganache observed; proxyd backend.go#L51',
  },
  {
    means: 'unsupported',
    of: 'eth_getLogs',
    codes: [-32005],
    text: /^limit exceeded$/,
    client: 'public endpoints of BNB Smart Chain: disabled there, waiting does not help',
    source: 'bnb-chain/bsc#1215',
  },
  {
    means: 'too-large',
    text: /^(?:query (?:returned|exceeds|timeout exceeded)|you can make eth_\w+ requests with up to|range \d+ exceeds|(?:block )?range (?:is )?(?:too (?:high|large|wide|big)|exceeds)|exceeds? (?:the )?max(?:imum)? block range|(?:backend )?response (?:size )?(?:is |should )?(?:too|not greater)|log response size exceeded|too many RPC calls in batch|(?:request|content|batch|body) (?:entity )?(?:is )?too (?:large|big)|eth_getLogs (?:is limited|requests with up to)|block range (?:limit|should))/i,
    client: 'Alchemy, Infura, zkSync Era, IoTeX, geth, jsonrpsee, proxyd, Candle',
    source: 'dank_mids#772; infura#237; zksync-era error.rs#L38; go-ethereum rpc/errors.go#L60-72; proxyd backend.go',
  },
  {
    means: 'quota',
    codes: [402, -31999],
    client: 'Infura; Ankr, of free users',
    source: 'Infura docs; ankr-docs#1645',
  },
  {
    means: 'quota',
    text: /^(?:(?:your |the )?(?:monthly|daily) (?:\w+ ){0,4}(?:limit|quota|cap|exceeded)|exceeded the quota usage|(?:you(?:'ve| have) )?(?:reached|exceeded) (?:your |the )?(?:monthly|daily|quota|plan)|payment required)\b/i,
    client: 'Alchemy with -32600, Infura, 1RPC with -32001',
    source: 'xmtpd#672; erpc networks_test.go; catalogue of node variants §6.1',
  },
  {
    means: 'auth',
    codes: [-40100],
    client: 'besu',
    source: 'besu RpcErrorType.java',
  },
  {
    means: 'auth',
    text: /^(?:must be authenticated|unauthori[sz]ed|unauthenticated|forbidden|access denied|(?:invalid|missing|unknown|expired|revoked) (?:api[ -]?key|access token|authentication|token|credentials|project id)|project id required|rejected due to project ID|api key (?:is )?(?:invalid|missing|required|not))/i,
    client: 'Alchemy with -32600, Infura, others',
    source: 'Alchemy and Infura docs',
  },
  {
    means: 'rate',
    codes: [429, -32005, -32007, -32090, -32605, -32606, -32097, 30],
    client: 'Alchemy, zkSync Era; EIP-1474, Infura, Chainstack, Tenderly; QuickNode; Ankr; hedera; dRPC',
    source: 'conduitxyz/node#36; infura#201; foundry#4894; hiero JsonRpcError.ts#L63-66; hyperindex#715',
  },
  {
    means: 'rate',
    codes: [-32009],
    text: /\b(?:request limit|busy|shutting down|limit reached|too many)\b/i,
    client: 'QuickNode; jsonrpsee (zkSync Era, reth)',
    source: 'QuickNode docs; jsonrpsee types/src/error.rs; zksync-era error.rs#L53',
  },
  {
    means: 'rate',
    text: /^(?:429\b|too many requests|(?:\S+ ){0,2}(?:over |exceeded )?(?:rate|request|rps|call rate|capacity) ?-?limit|over rate limit|(?:\S+ ){0,2}request rate (?:exceeded|limited)|(?:you(?:r app)?(?:'ve)? )(?:has |have )?exceeded (?:its|your|the)|server is (?:busy|shutting down)|request timed out|(?:backend|server|service) is over capacity|try again later)/i,
    client: 'all; geth -32002 of an own time limit',
    source: 'base-org/node#368; proxyd backend.go#L45-135; jsonrpsee types/src/error.rs; go-ethereum rpc/errors.go',
  },
  {
    means: 'rate',
    of: 'reads',
    text: /\b(?:rate.?limit(?:ed|s)?|too many requests|request limit|requests? per second|compute units?|throttl(?:ed|ing))\b/i,
    client: 'any, in words that we have not seen',
    source: 'what the rows above have in common',
  },
  {
    means: 'transport',
    text: /^(?:no backend is currently healthy|backend offline|gateway timeout|bad gateway|service (?:temporarily )?unavailable|upstream (?:connect error|request timeout))/i,
    client: 'proxyd, load balancers',
    source: 'proxyd backend.go#L45-135',
  },
  {
    means: 'transport',
    codes: [503],
    client: 'zkSync Era with HTTP 200; bodies without a code',
    source: 'zksync-era web3/backend_jsonrpsee/middleware.rs; erpc networks_test.go#L5117',
  },

  // Nothing executes in a look-up by hash, so that its words are the node's own, in whatever order.
  {
    means: 'not-found',
    of: 'lookups by hash',
    text: /\b(?:not found|unknown (?:block|transaction|tx|hash|uncle)|no (?:such )?(?:block|transaction|tx|receipt|uncle)|(?:unable|failed|could not|couldn't|can't|cannot) (?:to )?find|does ?n[o']t exist|no longer exists|index out of (?:range|bounds))\b|^unknown hash$/i,
    client: 'any, in words that we have not seen',
    source: 'what the rows at the top have in common',
  },

  // The text says nothing that we know: then HTTP's status does.
  { means: 'rate', status: [429], client: 'all', source: 'RFC 6585' },
  { means: 'quota', status: [402], client: 'Infura', source: 'RFC 9110' },
  { means: 'auth', status: [401, 403], client: 'all; never the caller’s', source: 'RFC 9110' },
  { means: 'too-large', status: [413], client: 'all', source: 'RFC 9110' },
  { means: 'transport', status: [408, 502, 503, 504, 520, 521, 522, 523, 524], client: 'all', source: 'RFC 9110' },

  // The parameters passed our check, and still the node finds them wrong: so would the next one.
  { means: 'final', codes: [-32602], client: 'all', source: 'JSON-RPC 2.0' },
];
