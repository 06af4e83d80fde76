export interface RevertRule {
  /**
   * Anchored: the words of the client, never the contract's. What follows them may be the `reason`, the `payload` or
   * the number of a `panic`, which are of use where the client has lost the payload.
   */
  readonly text: RegExp;
  /** Must be the error's code, where it is given. */
  readonly codes?: readonly number[];
  readonly client: string;
  readonly source: string;
}

/** How nodes say that the EVM executed REVERT. Code 3 proves nothing and is not needed. */
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
    text: /^VM Exception while processing transaction: reverted with (?:an unrecognized )?custom error(?: \(return data: (?<payload>0x(?:[\da-f]{2})*)\))?/,
    client: 'hardhat 2, 3',
    source: 'hardhat 3.18 observed',
  },
  {
    text: /^VM Exception while processing transaction: Expected return data to contain a valid /,
    client: 'hardhat 2, of a malformed payload',
    source: 'hardhat 2.29 observed',
  },
  {
    // All that Hardhat infers about a revert without a payload. What is left out is a halt.
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
    client: 'lotus to 1.28, forest',
    source: 'ChainSafe/forest#4554',
  },
  {
    text: /^EVM revert instruction without description message$/,
    client: 'skaled; of a reason it says nothing but the reason',
    source: 'skalenetwork/skaled#1931',
  },
];

/**
 * An error whose whole text is a contract's reason, or the payload. Its code alone says that something was executed, and
 * proxies use the same code: a reason is a guess, for when no upstream has a usable response. A payload is none. A text
 * about time, capacity or a sync is left out: then the upstream's own error is passed on.
 */
export const bareReason: RevertRule & { readonly of: string } = {
  of: 'eth_estimateGas',
  text: /^(?!gateway timeout$|Dependent service returned immature records|VM execution error\.?$|VM Exception |Transaction execution error\.?$|[^]*\b(?:time(?:d )?-?out|deadline|cancell?ed|aborted|sync(?:ed|ing)|busy|overload\w*|capacity|concurren\w+|too many|connection|(?:un|not )available|not ready|peers|internal (?:server )?error)\b)(?:(?<payload>0x(?:[\da-f]{2})*)|(?<reason>[^]+))$/i,
  codes: [-32015],
  client: 'nethermind 1.21-1.31',
  source:
    'nethermind#8316, #6224; what is left out: proxyd backend.go#L45-135, hedera JsonRpcError.ts, openethereum errors.rs#L138-160',
};
