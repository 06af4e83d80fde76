import type { ErrorRule } from './error-rule.ts';

/**
 * EVM halts, and errors about transactions that no node would accept. They are final, because every node returns them.
 * They are not reverts, although some clients use code 3 (Hardhat 3, ethereumjs, zkSync Era, lotus).
 */
export const executionErrorRules: readonly ErrorRule[] = [
  {
    means: 'final',
    text: /^(?:\w+ ){0,6}out of gas\b|^OutOfGas/i,
    client: 'all; "Transaction ran out of gas" hardhat 3, "call ran out of gas" lotus',
    source: 'go-ethereum core/vm/errors.go; hardhat 3.18, anvil 1.7.1 observed; nethermind#9997',
  },
  {
    means: 'final',
    text: /^(?:invalid|bad|undefined|unknown) (?:op ?code|instruction)\b|^opcode 0x[\da-f]+ not defined/i,
    client: 'geth, ganache, hardhat, ethereumjs, parity (in data)',
    source: 'go-ethereum core/vm/errors.go; openethereum errors.rs#L465-478',
  },
  {
    means: 'final',
    text: /^(?:invalid|bad) jump\b|^stack (?:underflow|overflow|limit reached)\b|^out of (?:stack|bounds)\b/i,
    client: 'geth, ganache, parity (in data)',
    source: 'go-ethereum core/vm/errors.go; ganache 7.9.2 observed; openethereum errors.rs',
  },
  {
    means: 'final',
    text: /^(?:write protection|mutable call in static context|static state change|gas uint64 overflow|nonce uint64 overflow|return data out of bounds|max call depth exceeded|contract address collision|create collision)\b/i,
    client: 'geth, ganache, parity (in data)',
    source: 'go-ethereum core/vm/errors.go; openethereum vm/src/error.rs',
  },
  {
    means: 'final',
    text: /^(?:max (?:code|initcode) size exceeded|invalid code: |code size to deposit exceeds|Transaction reverted: (?:trying to deploy a contract whose code is too large|contract code size))/i,
    client: 'geth, ganache, hardhat',
    source: 'go-ethereum core/vm/errors.go; hardhat 3.18 observed',
  },
  {
    means: 'final',
    text: /^EVM error:? (?!Database|Custom|External)\w+(?:\([^]*\))?$/i,
    client: 'anvil, reth, frontier',
    source: 'anvil 1.7.1 observed; frontier client/rpc/src/eth/execute.rs#L1424-1428',
  },
  {
    means: 'final',
    text: /^(?:BadInstruction|StackOverflow|StackUnderflow|InvalidJump(?:Destination)?|InvalidFEOpcode|OpcodeNotFound|DesignatedInvalid|AccessViolation|StaticCallViolation|StateChangeDuringStaticCall|PrecompileFailure|TransactionCollision|CreateCollision|CreateContractSizeLimit|CreateContractStartingWithEF|NotEnoughBalance|OutOfFund|InvalidCode|NotEnoughBaseGas|NotEnoughCash|BlockGasLimitReached|InvalidNonce|SenderMustExist|MutableCallInStaticContext|TransactionMalformed)\b/,
    client: 'nethermind, revm, frontier, parity (in data), by the names of their enumerations',
    source:
      'nethermind Evm/EvmExceptionType.cs; revm interpreter InstructionResult; evm ExitError; openethereum ethcore/src/executed.rs#L76',
  },
  {
    means: 'final',
    text: /^VM Exception while processing transaction: (?!revert|transaction reverted)/,
    client: 'ganache, hardhat, frontier',
    source: 'ganache 7.9.2, hardhat 3.18 observed',
  },
  {
    means: 'final',
    codes: [-32015, -32016],
    text: /^(?:VM execution error\.?|The execution failed due to an exception\.?)$/,
    client: 'parity, nethermind: the cause is in data, and is not a revert',
    source: 'openethereum errors.rs#L158-164, #L465-478',
  },
  {
    means: 'final',
    text: /^Transaction processing could not be completed due to an exception\b/,
    client: 'besu',
    source: 'besu eth_estimateGas_invalid.json',
  },
  {
    means: 'final',
    codes: [13],
    text: /^(?:execution )?simulation failed\b/,
    client: 'IoTeX: not a revert, with the status of the receipt',
    source: 'iotex-core api/coreservice.go#L1867',
  },
  {
    means: 'final',
    text: /^message execution failed\b|^actor not found$/,
    client: 'lotus, for exit codes other than 33',
    source: 'lotus api/api_errors.go#L185-210; pull/13467',
  },
  {
    means: 'final',
    text: /^(?:out of gas: )?gas required exceeds (?:allowance|block gas limit)|^Cannot estimate gas, gas spent exceeded/i,
    client: 'geth, anvil, nethermind',
    source: 'go-ethereum eth/gasestimator/gasestimator.go#L142; anvil 1.7.1 observed',
  },
  {
    means: 'final',
    text: /^(?:insufficient (?:sender )?(?:funds|balance|MaxFeePerGas)|not enough (?:funds|balance)|sender doesn't have enough funds|upfront cost exceeds account balance)\b(?![^]*\b(?:top up|upgrade|plan|billing|subscription|credits?|compute units?|api key)\b)/i,
    client: 'all',
    source:
      'go-ethereum core/error.go; besu eth_call_stateOverride_insufficientBalance.json; ganache, hardhat observed',
  },
  {
    means: 'final',
    text: /^intrinsic gas\b|^base fee exceeds gas limit\b|^transaction requires at least \d+ gas\b|^(?:transaction |tx )?gas limit (?:is )?(?:too|below|exceeds|'\d+' exceeds)\b|^exceeds block gas limit\b/i,
    client: 'all',
    source: 'go-ethereum core/error.go; besu eth_call_gasLimitTooLow_block_8.json; ganache, hardhat, anvil observed',
  },
  {
    means: 'final',
    text: /^(?:invalid |transaction )?nonce (?:is )?(?:too (?:low|high)|mismatch|expired)\b/i,
    client: 'all; zkSync Era with code 3, besu with -32001',
    source: 'go-ethereum core/error.go; zksync-era tx_sender/result.rs#L13; besu',
  },
  {
    means: 'final',
    text: /^max(?:imum)? ?(?:fee|priority fee) ?per ?gas\b|^(?:replacement )?transaction (?:gas price )?underpriced\b|^(?:already known|fee cap less than|tip higher than fee cap|tx fee \([^)]*\) exceeds|sender not an EOA|sender is over rate limit$)/i,
    client: 'geth and its forks; the last text: proxyd, with one sequencer behind all nodes',
    source: 'go-ethereum core/error.go, core/txpool/errors.go; proxyd backend.go#L45-135',
  },
  {
    means: 'final',
    text: /^failed with \d+ gas: /,
    client: 'geth',
    source: 'go-ethereum eth/gasestimator/gasestimator.go',
  },
  {
    means: 'final',
    text: /^(?:failed to validate the transaction|cannot validate the transaction|account validation error|validation revert)\b/i,
    client: 'zkSync Era with code 3',
    source: 'zksync-era tx_sender/result.rs; zksync2-python#36',
  },
];
