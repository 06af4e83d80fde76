import { failureOfStatus } from '../../upstreams/transport/upstream-response.ts';
import type { ErrorRule } from './error-rule.ts';
import { lookupRules } from './lookup-rules.ts';
import { stateRules } from './state-rules.ts';

/** Rules for errors with a text that matches no other row: the HTTP status decides. */
export const statusRules: readonly ErrorRule[] = Object.entries(failureOfStatus).map(([status, means]) => ({
  means,
  status: [Number(status)],
  client: 'all',
  source: 'RFC 9110, RFC 6585',
}));

/** The first matching row decides. Reverts and EVM halts are classified before. */
export const errorRules: readonly ErrorRule[] = [
  ...lookupRules,
  ...stateRules,

  // Unsupported methods, limits, plans and credentials.
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
    methods: 'logs',
    codes: [-32005],
    text: /^limit exceeded$/,
    client: 'public endpoints of BNB Smart Chain: the method is disabled, so waiting does not help',
    source: 'bnb-chain/bsc#1215',
  },
  {
    means: 'too-large',
    text: /^(?:query (?:returned|exceeds|timeout exceeded)|you can make eth_\w+ requests with up to|range \d+ exceeds|(?:block )?range (?:is )?(?:too (?:high|large|wide|big)|exceeds)|exceeds? (?:the )?max(?:imum)? block range|(?:backend )?response (?:size )?(?:is |should )?(?:too|not greater)|log response size exceeded|too many RPC calls in batch|(?:request|content|batch|body) (?:entity )?(?:is )?too (?:large|big)|eth_getLogs (?:is limited|requests with up to)|block range (?:limit|should))/i,
    client: 'Alchemy, Infura, zkSync Era, IoTeX, geth, jsonrpsee, proxyd, Candle',
    source: 'dank_mids#772; infura#237; zksync-era error.rs#L38; go-ethereum rpc/errors.go#L60-72; proxyd backend.go',
  },
  {
    // Not anchored, because eth_getLogs executes no code. Its limits concern ranges, results, addresses and topics.
    means: 'too-large',
    methods: 'logs',
    text: /^(?=[^]*?\b(?:blocks?|ranges?|blockranges?|results?|logs?|response|entries|records|address(?:es)?|topics?|filters?)\b)(?=[^]*?\b(?:exceed(?:s|ed|ing)?|limit(?:s|ed|ation)?|max\w*|too (?:many|large|wide|big|high|long|far|broad)|(?:more|larger|bigger|greater|wider) than (?:the )?\d+|over \d+|up to|at most|narrow\w*|smaller|reduce|paginat\w+|blocks? distance|should work)\b)/i,
    client:
      'erigon, reth, geth 1.16, nitro, coreth, Alchemy, QuickNode, Chainstack, dRPC, Cloudflare, public endpoints: each with its own limit',
    source:
      'erigon#20424; reth rpc/src/eth/filter.rs#L976-979; go-ethereum eth/filters/filter.go#L149; scroll-tech/go-ethereum#529; erpc architecture/evm/error_normalizer.go',
  },
  {
    means: 'quota',
    codes: [402, -31999],
    client: 'Infura; Ankr, free plan',
    source: 'Infura docs; ankr-docs#1645',
  },
  {
    means: 'quota',
    text: /^(?:(?:your |the )?(?:monthly|daily) (?:\w+ ){0,4}(?:limit|quota|cap|exceeded)|exceeded the quota usage|(?:you(?:'ve| have) )?(?:reached|exceeded) (?:your |the )?(?:monthly|daily|quota|plan)|payment required)\b/i,
    client: 'Alchemy with -32600, Infura, 1RPC with -32001',
    source: 'xmtpd#672; erpc networks_test.go',
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
    client: 'all; geth -32002 for its own time limit',
    source: 'base-org/node#368; proxyd backend.go#L45-135; jsonrpsee types/src/error.rs; go-ethereum rpc/errors.go',
  },
  {
    means: 'rate',
    methods: 'reads',
    text: /\b(?:rate.?limit(?:ed|s)?|too many requests|request limit|requests? per second|compute units?|throttl(?:ed|ing))\b/i,
    client: 'any, with unrecorded texts',
    source: 'derived from the rows above',
  },
  {
    // Only this method is unsupported: the other methods of the plan work.
    means: 'unsupported',
    methods: 'reads',
    text: /^(?=[^]*?\b(?:method|api|endpoint|module|namespace|eth_\w+)\b)(?=[^]*?\b(?:not (?:available|included|supported|allowed|enabled|permitted|part)|requires?|only available|restricted)\b)(?=[^]*?\b(?:plan|tier|subscription|account|package)\b)/i,
    client: 'any, with unrecorded texts: the plan does not include the method',
    source: 'erpc architecture/evm/error_normalizer.go ("is not included in your current plan")',
  },
  {
    means: 'quota',
    methods: 'reads',
    text: /\b(?:quota|(?:plan|tier|subscription|account|trial|credits?|balance)(?:'s)? (?:\w+ ){0,2}(?:limit|expired|suspended|exhausted|exceeded|used up|reached)|upgrade (?:your|to|from)|top up|(?:insufficient|out of|no more|not enough) (?:\w+ )?credits?|\/billing|payment)\b/i,
    client: 'any, with unrecorded texts',
    source: 'derived from the rows above; erpc architecture/evm/error_normalizer.go',
  },
  {
    means: 'auth',
    methods: 'reads',
    text: /^(?=[^]*?\b(?:api[ _-]?key|access[ _-]?(?:key|token)|auth(?:entication|orization)?|token|credentials|project(?: id)?|jwt|origin|referer|ip(?: address)?|whitelist\w*|allowlist\w*)\b)(?=[^]*?\b(?:invalid|missing|required|requires|not (?:found|allowed|valid|provided|authorized|exist|active|permitted|included|in|on)|expired|revoked|disabled|inactive|suspended|blocked|denied|unknown)\b)/i,
    client: 'any, with unrecorded texts: the upstream’s credentials, never the caller’s',
    source: 'derived from the rows above; erpc thirdparty/drpc.go, blockpi.go',
  },
  {
    // A malformed filter is not described as limited.
    means: 'too-large',
    methods: 'logs',
    codes: [-32602, -32600, -32701],
    text: /^(?=[^]*?\b(?:limit(?:ed|s)?|exceed(?:s|ed)?|restrict\w*|upgrade|paid|plan|tier|dedicated|specify an address)\b)/i,
    client: 'any, with unrecorded texts: publicnode and others',
    source: 'derived from the row for eth_getLogs; erpc architecture/evm/error_normalizer.go',
  },
  {
    means: 'transport',
    text: /^(?:no backend is currently healthy|backend offline|gateway timeout|bad gateway|service (?:temporarily )?unavailable|upstream (?:connect error|request timeout))/i,
    client: 'proxyd, load balancers',
    source: 'proxyd backend.go#L45-135',
  },
  {
    means: 'transport',
    methods: 'reads',
    text: /\b(?:no (?:healthy|available|working) (?:backends?|upstreams?|nodes?|servers?|providers?|instances?)\b|all (?:backends?|upstreams?|nodes?|servers?|providers?) (?:\w+ ){0,2}(?:failed|down|unavailable|unhealthy)|(?:backends?|upstreams?|server|service|provider) (?:is |are )?(?:\w+ )?(?:down|unavailable|unreachable|offline|overloaded))\b/i,
    client: 'proxies and balancers: envoy, proxyd, dshackle, eRPC',
    source: 'proxyd backend.go#L45-135; erpc networks_test.go; envoy docs, response flags UH',
  },
  {
    means: 'transport',
    codes: [503],
    client: 'zkSync Era with HTTP 200; bodies without a code',
    source: 'zksync-era web3/backend_jsonrpsee/middleware.rs; erpc networks_test.go#L5117',
  },

  ...statusRules,

  // Databases, caches and proxies use these texts for their own data: they do not prove that the object does not exist.
  {
    means: 'node-state',
    methods: 'reads',
    text: /\b(?:not found|unknown (?:block|transaction|tx|hash|uncle)|no (?:such )?(?:block|transaction|tx|receipt|uncle)|(?:unable|failed|could not|couldn't|can't|cannot) (?:to )?find|does ?n[o']t exist|no longer exists|index out of (?:range|bounds))\b|^unknown hash$/i,
    client: 'any, with unrecorded texts',
    source:
      'pebble internal/base/error.go ErrNotFound; erigon rawdb "body not found for block"; cometbft state/errors.go',
  },
];
