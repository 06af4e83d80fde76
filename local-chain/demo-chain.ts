import { counterContract, gateContract } from './demo-contracts/demo-contracts.ts';
import { callLocalNode } from './local-node.ts';

/** The accounts, contracts and transactions of a demo chain. The contracts are in `demo-contracts/Demo.sol`. */
export interface DemoChain {
  /** The account that deployed the contracts and sent the transactions; the node has its key. */
  readonly caller: string;
  readonly other: string;
  readonly counter: {
    readonly address: string;
    /** Storage position of `number`: slot 0. Its content is `value`. */
    readonly numberPosition: string;
    /** Storage position of `setBy[caller]`: keccak of the padded key and the padded slot. Its content is `value`. */
    readonly setByPosition: string;
    readonly value: number;
    /** Calldata of `number()`, of `set(value + 1)` for an estimate that succeeds, and of `setBy(caller)`. */
    readonly calls: { readonly number: string; readonly set: string; readonly setBy: string };
  };
  readonly gate: {
    readonly address: string;
    /** Calldata of calls that revert: with Error("the gate is closed"), Panic(0x11), NotInvited(caller), and no data. */
    readonly calls: { readonly open: string; readonly exit: string; readonly enter: string; readonly push: string };
  };
  /** The transaction that set the number; it has a log. */
  readonly setTransaction: string;
  /** A plain transfer of one ether from `caller` to `other`. */
  readonly transferTransaction: string;
  /** The block of both transactions; it has a third one. */
  readonly blockHash: string;
}

interface Receipt {
  readonly status: string;
  readonly blockHash: string;
  readonly contractAddress: string | null;
}

const VALUE = 42;
const ONE_ETHER = '0xde0b6b3a7640000';

/**
 * Creates blocks, transactions and contracts on a fresh anvil, with the accounts whose keys anvil has. Afterwards anvil
 * mines one block for each transaction, and no other blocks.
 */
export async function makeDemoChain(url: string): Promise<DemoChain> {
  try {
    return await createChain((method, ...params) => callLocalNode(url, method, params));
  } catch (error) {
    throw new Error(`the demo chain could not be made: ${error instanceof Error ? error.message : 'unknown'}`, {
      cause: error,
    });
  }
}

type CallNode = (method: string, ...params: unknown[]) => Promise<unknown>;

async function createChain(callNode: CallNode): Promise<DemoChain> {
  const [caller, other] = (await callNode('eth_accounts')) as string[];
  if (caller === undefined || other === undefined) throw new Error('the node has no accounts');

  const counter = await deploy(callNode, caller, counterContract.code);
  const gate = await deploy(callNode, caller, gateContract.code);

  // Automatic mining is off, so that one block has several transactions.
  await callNode('evm_setAutomine', false);
  const send = (transaction: object) => callNode('eth_sendTransaction', transaction) as Promise<string>;
  const transferTransaction = await send({ from: caller, to: other, value: ONE_ETHER });
  const setTransaction = await send({ from: caller, to: counter, data: setCall(VALUE) });
  await send({ from: other, to: caller, value: '0x1' });
  await callNode('evm_mine');
  await callNode('evm_setAutomine', true);

  const { blockHash } = await receiptOf(callNode, setTransaction);
  await receiptOf(callNode, transferTransaction);
  const position = word(caller) + word(counterContract.slots.setBy);

  return {
    caller,
    other,
    counter: {
      address: counter,
      numberPosition: counterContract.slots.number,
      setByPosition: (await callNode('web3_sha3', `0x${position}`)) as string,
      value: VALUE,
      calls: {
        number: counterContract.selectors.number,
        set: setCall(VALUE + 1),
        setBy: counterContract.selectors.setBy + word(caller),
      },
    },
    gate: { address: gate, calls: gateContract.selectors },
    setTransaction,
    transferTransaction,
    blockHash,
  };
}

async function deploy(callNode: CallNode, from: string, code: string): Promise<string> {
  // Unlike eth_sendTransaction, this returns after the transaction is mined.
  const receipt = (await callNode('eth_sendTransactionSync', { from, data: code })) as Receipt;
  const { contractAddress } = succeeded(receipt);
  if (contractAddress === null) throw new Error('a contract was not deployed');
  return contractAddress;
}

async function receiptOf(callNode: CallNode, hash: string): Promise<Receipt> {
  return succeeded((await callNode('eth_getTransactionReceipt', hash)) as Receipt | null);
}

function succeeded(receipt: Receipt | null): Receipt {
  if (receipt === null) throw new Error('a transaction was not mined');
  if (receipt.status !== '0x1') throw new Error('a transaction failed');
  return receipt;
}

function setCall(to: number): string {
  return counterContract.selectors.set + word(`0x${to.toString(16)}`);
}

/** Word of hexadecimal digits, left-padded to 32 bytes, without 0x. */
function word(hex: string): string {
  return hex.slice(2).padStart(64, '0');
}
