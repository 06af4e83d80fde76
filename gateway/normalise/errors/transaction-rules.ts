import type { ErrorRule } from './error-rule.ts';

const final = { means: 'final' } as const;

/**
 * The closed list of errors about a transaction itself, which every node would return. `execution-error-rules.ts` has
 * the halts, and `upstreams/transactions/send-rules.ts` the errors about known transactions. Any other rejection of
 * `eth_sendRawTransaction` concerns the node or its provider (a full pool, a plan, an unreachable sequencer).
 */
export const transactionRules: readonly ErrorRule[] = [
  {
    ...final,
    text: /^(?:(?:invalid |incorrect |transaction |account |message )?nonce (?:is )?(?:too (?:low|high|far|distant)|has max value|exceeds|overflow|gap|already used|has already been used)|(?:invalid|incorrect) (?:transaction )?nonce|transaction nonce is too|gapped-nonce tx\b|future transaction tries to replace pending\b|delegation nonce gap|account sequence mismatch|minimum expected nonce is|the tx doesn't have the correct nonce)/i,
    client: 'geth, reth, besu, nethermind 1.35, openethereum, ganache, ethermint, lotus: nonce',
    source:
      'go-ethereum core/error.go, core/txpool/errors.go; besu RpcErrorType.java; nethermind Core/Messages/TxPoolErrorMessages.cs; lotus chain/messagepool',
  },
  {
    ...final,
    text: /^(?:OldNonce|NonceGap|NonceTooFarInFuture|OwnNonceAlreadyUsed|NotCurrentNonceForDelegation|InsufficientFunds|Int256Overflow|FeeTooLow(?:ToCompete)?|ReplacementNotAllowed|GasLimitExceeded|SenderIsContract|FailedToResolveSender|NotSupportedTxType|MaxTxSizeExceeded|AlreadyKnown|Invalid)(?:, [^]*)?$/,
    client: 'nethermind up to 1.34: names of its result values',
    source: 'nethermind 1.25 Nethermind.TxPool/AcceptTxResult.cs',
  },
  {
    ...final,
    text: /^(?:transaction overdraws from account|transaction cost overflow|lack of funds \(|negative value|insufficient funds\. The account you tried|sender (?:does not|doesn't) have enough (?:funds|balance))/i,
    client: 'reth, nethermind 1.35, revm, geth, openethereum, hardhat: funds',
    source:
      'reth transaction-pool/src/error.rs; nethermind TxPoolErrorMessages.cs; openethereum errors.rs#L395; hardhat 3.18 observed',
  },
  {
    ...final,
    text: /^(?:(?:replacement )?(?:transaction|tx) underpriced|underpriced|(?:transaction )?fee too low|(?:transaction )?(?:max )?gas price (?:'?\S+ )?(?:is )?(?:below|too low|lower|less than)|blob gas price below|transaction gas price below minimum|transaction fee ?cap\b|transaction priority fee below|max(?:imum)? (?:priority )?fee per (?:blob )?gas|tx fee \([^)]*\) exceeds|fee cap less than|insufficient (?:gas price to replace|fee\b)|could not replace existing tx|replaced by transaction with higher tip|(?:An existing|A newer) transaction had higher priority)/i,
    client: 'geth, erigon, reth, besu, openethereum, hedera, ethermint, monad: price',
    source:
      'go-ethereum core/txpool/errors.go; erigon txpoolcfg.go; reth transaction-pool/src/error.rs; besu RpcErrorType.java; openethereum errors.rs#L377-394; erpc error_normalizer.go (monad)',
  },
  {
    ...final,
    text: /^(?:intrinsic ?gas\b|insufficient gas for floor data gas|exceeds (?:block|max transaction) gas limit|(?:transaction(?:'s)? )?gas limit (?:\S+ )?(?:reached|overflow|exceeds|is too|too (?:high|low)|cap exceeded|provided\b|is \d)|GasUintOverflow$|gas uint64 overflow|transaction gas is too low|transaction cost exceeds current gas limit|supplied gas is beyond limit|transaction requires at least \d|call gas cost \(|out of gas covering)/i,
    client: 'geth, erigon, reth, besu, nethermind 1.35, openethereum, hardhat, hedera, revm: gas',
    source:
      'go-ethereum core/error.go; erigon txpoolcfg.go; reth transaction-pool/src/error.rs; openethereum errors.rs#L386-403; besu RpcErrorType.java',
  },
  {
    ...final,
    text: /^(?:oversized data|transaction (?:is )?too (?:big|large)|transaction size\b|transaction's input size|RLPTooLong$|max initcode size exceeded|initcode too large|transaction blob limit exceeded|too many blobs in transaction|max number of blobs exceeded|total blob gas too high)/i,
    client: 'geth, erigon, reth, besu, nethermind 1.35, openethereum, zkSync Era: size',
    source:
      'go-ethereum core/txpool/errors.go; erigon txpoolcfg.go; reth transaction-pool/src/error.rs; nethermind TxPoolErrorMessages.cs; openethereum errors.rs#L408',
  },
  {
    ...final,
    text: /^(?:(?:transaction|tx) type (?:\S+ )?(?:is )?not (?:supported|enabled|activated|valid)|unsupported (?:transaction|tx) type|invalid transaction type|fork supporting this transaction type is not activated|blob transactions? (?:missing|has|of type|is|must|exceeds)|blobless blob transaction|blob sidecar\b|missing (?:blob tx )?sidecar|wrong sidecar format|(?:legacy|unexpected) (?:eip-\d+ |blob )?sidecar|eip-\d+ (?:sidecar|transaction|authorization|& )|KZG|blobs failed kzg|set code tx must|no items in authorization list|transactions before \w+(?: \w+)? should not|max_fee_per_blob_gas is not supported|blob_versioned_hashes\b|blob hash version mismatch|can't replace blob-txn)/i,
    client: 'geth, erigon, reth, besu, nethermind 1.35, IoTeX: type, and its fields',
    source:
      'go-ethereum core/types/transaction.go, core/txpool/validation.go; erigon txpoolcfg.go; reth transaction-pool/src/error.rs; besu RpcErrorType.java',
  },
  {
    ...final,
    text: /^(?:(?:invalid|wrong|incorrect|mismatched) (?:EVM )?chain ?id\b|chain ?id (?:\([^)]*\) )?(?:is required|not supported|mismatch|does not match)|trying to send a raw transaction with an invalid chain ?id|only replay-protected \(EIP-155\) transactions|expect chainID = \d+, got \d+: invalid EVM chain ID$)/i,
    client: 'geth, reth, besu, openethereum, hardhat, hedera, IoTeX: chain id',
    source:
      'go-ethereum core/types/transaction_signing.go, internal/ethapi/api.go#L1648; besu RpcErrorType.java; iotex-core api/web3server.go#L86; hiero precheck',
  },
  {
    ...final,
    text: /^(?:invalid (?:sender|(?:transaction )?signature|transaction v, r, s values)|(?:failed to|could not|cannot) recover (?:the )?(?:sender|signer|signature)|(?:transaction )?sender (?:is )?not an eoa|transaction sender is not|sender account not authorized|signature (?:is )?invalid|transaction (?:is )?not signed|tx needs to be signed)/i,
    client: 'geth, erigon, reth, besu, nethermind 1.35, openethereum, ethereumjs: signature, sender',
    source:
      'go-ethereum core/txpool/errors.go, core/error.go; reth transaction-pool/src/error.rs; besu RpcErrorType.java; ethereumjs client/lib/rpc/modules/eth.ts',
  },
  {
    ...final,
    text: /^(?:rlp: |typed transaction too short|transaction too short|failed to decode (?:signed )?transaction|(?:could not|cannot|unable to|failed to) (?:decode|parse|unmarshal) (?:the )?(?:raw |signed )?(?:transaction|tx)\b|transaction could not be decoded|empty transaction data|invalid RLP\b|transaction invalid$|invalid (?:raw )?transaction(?:$|:))/i,
    client: 'geth and its forks, reth, nethermind 1.35, openethereum: bytes that are not a transaction',
    source:
      'go-ethereum rlp/decode.go, core/types/transaction.go; reth rpc-eth-types/src/error/mod.rs; openethereum errors.rs#L409, #L445',
  },
  {
    ...final,
    text: /^(?:Pool\()?InvalidTransaction(?:ValidityError)?(?:::|\()/,
    client: 'frontier, moonbeam, after "submit transaction to pool failed: "',
    source: 'frontier client/rpc/src/eth/submit.rs; substrate sp_runtime InvalidTransaction',
  },
];
