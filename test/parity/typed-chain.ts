import { keccak256, parseGwei, type TransactionSerializable } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import { counterContract, gateContract } from '../../local-chain/demo-contracts/demo-contracts.ts';
import { makeBlobTransaction } from './blob-transaction.ts';
import { fetchResult, type RpcEndpoint } from './rpc-endpoint.ts';
import { eventually } from '../support/eventually.ts';

const account = privateKeyToAccount(`0x${'7'.repeat(64)}`);
/** The sender of all transactions. It needs ether, or a node with an unlocked account that has some. */
export const sender = account.address;
const delegate = privateKeyToAccount(`0x${'8'.repeat(64)}`);
const ONE_HUNDRED_ETHER = '0x56bc75e2d63100000';
const SHORT_SIGNATURES = 4;
const RECEIPT_TIMEOUT_MS = 30_000;

interface Receipt {
  readonly status: string;
  readonly contractAddress: `0x${string}` | null;
}

/** The contents of a development chain. */
export interface TypedChain {
  readonly executions: readonly object[];
  readonly funded: string;
  /** Raw transactions that the node rejects: nonce too low, no funds, too little gas. */
  readonly rejectedTransactions: readonly string[];
  /** A new raw transaction that is not sent yet, and its hash. */
  nextTransfer(): Promise<{ readonly raw: string; readonly hash: string }>;
}

/**
 * Sends transactions of the types 0, 1, 2 and 4 to a development chain that mines one transaction per block. One reverts,
 * one has a log, and some have an `r` or `s` with a leading zero. `hasBlobs` adds type 3.
 */
export async function makeTypedChain(node: RpcEndpoint, { hasBlobs = false } = {}): Promise<TypedChain> {
  const chainId = Number(await fetchResult<string>(node, 'eth_chainId'));
  if ((await fetchResult<string>(node, 'eth_getBalance', sender, 'latest')) === '0x0') {
    const [rich] = await fetchResult<string[]>(node, 'eth_accounts');
    const grant = { from: rich, to: sender, value: ONE_HUNDRED_ETHER };
    await receiptOf(node, await fetchResult<string>(node, 'eth_sendTransaction', grant));
  }
  let nonce = 0;
  const fees = { maxFeePerGas: parseGwei('20'), maxPriorityFeePerGas: parseGwei('1') };
  const sign = (transaction: Partial<TransactionSerializable>): Promise<`0x${string}`> =>
    account.signTransaction({ chainId, nonce, gas: 400_000n, ...transaction } as TransactionSerializable);
  const send = async (transaction: Partial<TransactionSerializable>): Promise<Receipt> => {
    const raw = await sign(transaction);
    nonce++;
    let outcome = '';
    // After a blob transaction, geth reserves the sender until its pool has processed the block.
    await eventually(async () => {
      outcome = await node.request('eth_sendRawTransaction', [raw]);
      return !outcome.includes('address already reserved');
    });
    if (!outcome.startsWith('result ')) throw new Error(`eth_sendRawTransaction: ${outcome}`);
    return receiptOf(node, keccak256(raw));
  };

  const deploy = async (code: string): Promise<`0x${string}` | null> =>
    (await send({ type: 'eip1559', data: code as `0x${string}`, ...fees })).contractAddress;
  const counter = await deploy(counterContract.code);
  const gate = await deploy(gateContract.code);
  if (counter === null || gate === null) throw new Error('the contracts were not deployed');
  const set = `${counterContract.selectors.set}${'2a'.padStart(64, '0')}` as const;
  const gasPrice = parseGwei('20');
  await send({ type: 'legacy', to: counter, data: set, gasPrice });
  const accessList = [{ address: counter, storageKeys: [`0x${'0'.repeat(64)}`] as const }];
  await send({ type: 'eip2930', to: counter, data: set, accessList, gasPrice });
  await send({ type: 'eip1559', to: gate, data: gateContract.selectors.open, ...fees });
  const authorization = await delegate.signAuthorization({ contractAddress: counter, chainId, nonce: 0 });
  await send({ type: 'eip7702', to: counter, data: set, authorizationList: [authorization], ...fees });
  if (hasBlobs) {
    const raw = await makeBlobTransaction(node, account, {
      from: sender,
      to: counter,
      nonce: `0x${nonce.toString(16)}`,
    });
    nonce++;
    await receiptOf(node, await fetchResult<string>(node, 'eth_sendRawTransaction', raw));
  }
  for (let value = 1n, found = 0; found < SHORT_SIGNATURES; value++) {
    const transfer = { type: 'eip1559', to: delegate.address, value, gas: 21_000n, ...fees } as const;
    if (!hasShortSignature(await sign(transfer))) continue;
    found++;
    await send(transfer);
  }

  const from = sender;
  return {
    funded: from,
    executions: [
      { from, to: counter, data: counterContract.selectors.number },
      { from, to: counter, data: set },
      { from, to: delegate.address, value: '0x1' },
      // Reverts with a reason, a panic, a custom error, and without data.
      ...Object.values(gateContract.selectors).map((data) => ({ from, to: gate, data })),
      // The opcode INVALID.
      { from, data: '0xfe' },
      { from: delegate.address, to: from, value: ONE_HUNDRED_ETHER },
    ],
    rejectedTransactions: [
      await sign({ type: 'eip1559', nonce: 0, to: gate, ...fees }),
      await sign({ type: 'eip1559', to: gate, value: 10n ** 30n, ...fees }),
      await sign({ type: 'eip1559', to: gate, ...fees, gas: 20_000n }),
    ],
    async nextTransfer() {
      const raw = await sign({ type: 'eip1559', to: delegate.address, value: 1n, gas: 21_000n, ...fees });
      nonce++;
      return { raw, hash: keccak256(raw) };
    },
  };
}

/** `r` and `s` are the last two fields of the RLP; an integer of 32 bytes has the prefix 0xa0. */
function hasShortSignature(raw: `0x${string}`): boolean {
  const s = raw.slice(-64);
  const r = raw.slice(-130, -66);
  return raw.slice(-66, -64) !== 'a0' || s.startsWith('0') || r.startsWith('0');
}

export async function receiptOf(node: RpcEndpoint, hash: string): Promise<Receipt> {
  let receipt: Receipt | null = null;
  await eventually(async () => {
    const outcome = await node.request('eth_getTransactionReceipt', [hash]);
    // A geth that has just started: "transaction indexing is in progress".
    if (outcome.startsWith('result ')) receipt = JSON.parse(outcome.slice('result '.length)) as Receipt | null;
    return receipt !== null;
  }, RECEIPT_TIMEOUT_MS);
  return receipt as unknown as Receipt;
}
