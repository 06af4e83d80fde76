/** A text with which node software reports a revert. */
export interface RevertRule {
  /**
   * Pattern, anchored at the client's own text. The groups `reason`, `payload` and `panic` capture the contract's part, for
   * errors without a payload in `data`; `custom` captures a decoded custom error.
   */
  readonly text: RegExp;
  /** Codes of which one must be the error's, if given. */
  readonly codes?: readonly number[];
  readonly client: string;
  readonly source: string;
}

/** Errors for an executed REVERT. Code 3 is neither sufficient nor necessary. */
export const revertRules: readonly RevertRule[] = [
  {
    text: /^execution (?:was )?reverted(?:: ?(?<reason>[^]*)|\.)?$/i,
    client:
      'geth and its forks, erigon, reth, besu, nethermind 2026, anvil 1.7, zkSync Era, hedera, ethermint, polygon edge',
    source:
      'go-ethereum internal/ethapi/errors.go#L37-65; anvil 1.7.1 observed; ethers-io/ethers.js#1493 (polygon edge)',
  },
  {
    text: /^Execution reverted \((?:ABI decode error|(?<reason>[^]*))\)$/i,
    client: 'besu',
    source: 'besu RpcErrorType.java#L171',
  },
  {
    text: /^VM Exception while processing transaction: reverted with reason string '(?<reason>[^]*)'$/,
    client: 'hardhat 2, 3',
    source: 'hardhat 3.18 observed',
  },
  {
    text: /^VM Exception while processing transaction: reverted with (?:unknown )?panic code 0x(?<panic>[\da-f]{1,64})\b/,
    client: 'hardhat 2, 3',
    source: 'hardhat 3.18 observed',
  },
  {
    text: /^VM Exception while processing transaction: reverted with (?:an unrecognized )?custom error(?: \(return data: (?<payload>0x(?:[\da-f]{2})*)\)| '(?<custom>[^]*)'$)?/,
    client: 'hardhat 2, 3',
    source: 'hardhat 3.18 observed',
  },
  {
    text: /^VM Exception while processing transaction: Expected return data to contain a valid /,
    client: 'hardhat 2, for a malformed payload',
    source: 'hardhat 2.29 observed',
  },
  {
    // Hardhat's texts for a revert without a payload. The excluded texts are halts.
    text: /^Transaction reverted(?: without a reason| and Hardhat couldn't infer the reason|: (?!trying to deploy a contract whose code is too large|contract code size))/,
    client: 'hardhat 2, 3',
    source: 'hardhat 3.18 observed',
  },
  {
    text: /^VM Exception while processing transaction: (?:transaction reverted|revert(?:ed)?(?: (?<reason>[^]*))?)$/,
    client: 'ganache 6, 7; frontier, moonbeam; rskj',
    source: 'ganache 7.9.2 observed; frontier execute.rs#L1430; RskJsonRpcRequestException.java#L37-66',
  },
  {
    text: /^revert(?:ed)?\.?$/i,
    client: 'ethereumjs 0.10; nethermind before 2026, in data too; parity eth_estimateGas in data',
    source: 'ethereumjs-client 0.10.5 observed; nethermind#4761, #2098; MetaMask/rpc-errors#49',
  },
  {
    text: /^Reverted (?:(?<payload>0x(?:[\da-f]{2})*)|(?<reason>[^]*))$/i,
    codes: [-32015, -32016],
    client: 'parity, openethereum; nethermind before 2026; in data',
    source: 'openethereum errors.rs#L465-478; nethermind#5740, #6024',
  },
  {
    text: /^always failing transaction \(execution reverted\)(?: \((?:(?<payload>0x(?:[\da-f]{2})+)|(?<reason>[^]*))\))?$/,
    client: 'geth 1.9.14',
    source: 'go-ethereum v1.9.14 internal/ethapi/api.go estimateGasError',
  },
  {
    text: /^Estimation isn't accurate: transaction is reverted(?:\.[^]*|: (?:execution reverted(?:: )?)?(?<reason>[^]*))?$/,
    client: 'conflux eSpace',
    source: 'Conflux-Chain/CIPs#70',
  },
  {
    text: /^REVERT opcode executed(?:: (?<reason>[^]*))?$/,
    client: 'java-tron',
    source: 'java-tron TronJsonRpcImpl.java',
  },
  {
    text: /^execution simulation is reverted due to the reason: (?<reason>[^]*)$/,
    client: 'IoTeX',
    source: 'iotex-core api/coreservice.go#L1860-1867',
  },
  {
    text: /^message execution failed \(exit=\[33\], revert reason=\[(?:none|Error\((?<reason>[^]*)\)|(?<payload>0x(?:[\da-f]{2})*)|[^\]]*)\], vm error=/,
    client: 'lotus from 2025',
    source: 'lotus api/api_errors.go#L185-210',
  },
  {
    text: /^message execution failed(?: \(exit=\[33\]|: exit 33, revert reason: (?:none|Error\((?<reason>[^]*)\), vm error: |(?<payload>0x(?:[\da-f]{2})*)|))/,
    client: 'lotus up to 1.28, forest',
    source: 'ChainSafe/forest#4554',
  },
  {
    text: /^EVM revert instruction without description message$/,
    client: 'skaled; with a reason, the message is only the reason',
    source: 'skalenetwork/skaled#1931',
  },
];

/**
 * An error whose whole text is a contract's reason, or the payload. Its code only indicates an execution, and proxies
 * use the same code. A payload proves the revert; a reason is only a guess, for gas estimates without a usable response. Texts
 * about timeouts, capacity or synchronisation are excluded: for them, the upstream's own error is passed on.
 */
export const bareReason: RevertRule = {
  text: /^(?!gateway timeout$|Dependent service returned immature records|VM execution error\.?$|VM Exception |Transaction execution error\.?$|[^]*\b(?:time(?:d )?-?out|deadline|cancell?ed|aborted|sync(?:ed|ing)|busy|overload\w*|capacity|concurren\w+|too many|connection|(?:un|not )available|not ready|peers|internal (?:server )?error|down|lag\w*|limit\w*|quota|exhaust\w*|unreachable|offline|backend|upstream|node|server|plan|memory|no response|slow down)\b)(?:(?<payload>0x(?:[\da-f]{2})*)|(?<reason>[^]+))$/i,
  codes: [-32015],
  client: 'nethermind 1.21-1.31',
  source:
    'nethermind#8316, #6224; excluded texts: proxyd backend.go#L45-135, hedera JsonRpcError.ts, openethereum errors.rs#L138-160',
};
