import { counterContract, gateContract } from './demo-contracts/demo-contracts.ts';
import { callLocalNode } from './local-node.ts';

/** What there is to ask about on a demo chain. Contracts: `demo-contracts/Demo.sol`. */
export interface DemoChain {
  /** The account that deployed the contracts and sent the transactions; the node holds its key. */
  readonly caller: string;
  readonly other: string;
  readonly counter: {
    readonly address: string;
    /** Where `number` is: slot 0. It holds `value`. */
    readonly numberPosition: string;
    /** Where `setBy[caller]` is, by the mapping rule: keccak of the padded key and the padded slot. Holds `value`. */
    readonly setByPosition: string;
    readonly value: number;
    /** Calldata: of `number()`, of `set(value + 1)` for an estimate that works, of `setBy(caller)`. */
    readonly calls: { readonly number: string; readonly set: string; readonly setBy: string };
  };
  readonly gate: {
    readonly address: string;
    /** Calldata; each reverts: with Error("the gate is closed"), Panic(0x11), NotInvited(caller), and no data. */
    readonly calls: { readonly open: string; readonly exit: string; readonly enter: string; readonly push: string };
  };
  /** The transaction that set the number: it has a log. */
  readonly setTransaction: string;
  /** A plain transfer of one ether from `caller` to `other`. */
  readonly transferTransaction: string;
  /** The block of both, which holds a third transaction too. */
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
 * Makes blocks, transactions and contracts on a fresh anvil, with the accounts that it holds the keys of.
 * From then on it mines a block for each transaction that is sent, and none by itself.
 */
export async function makeDemoChain(url: string): Promise<DemoChain> {
  try {
    return await make((method, ...params) => callLocalNode(url, method, params));
  } catch (error) {
    throw new Error(`the demo chain could not be made: ${error instanceof Error ? error.message : 'unknown'}`, {
      cause: error,
    });
  }
}

type Ask = (method: string, ...params: unknown[]) => Promise<unknown>;

async function make(ask: Ask): Promise<DemoChain> {
  const [caller, other] = (await ask('eth_accounts')) as string[];
  if (caller === undefined || other === undefined) throw new Error('the node has no accounts');

  const counter = await deploy(ask, caller, counterContract.code);
  const gate = await deploy(ask, caller, gateContract.code);

  // Mined by hand, so that one block holds several transactions.
  await ask('evm_setAutomine', false);
  const send = (transaction: object) => ask('eth_sendTransaction', transaction) as Promise<string>;
  const transferTransaction = await send({ from: caller, to: other, value: ONE_ETHER });
  const setTransaction = await send({ from: caller, to: counter, data: setCall(VALUE) });
  await send({ from: other, to: caller, value: '0x1' });
  await ask('evm_mine');
  await ask('evm_setAutomine', true);

  const { blockHash } = await receiptOf(ask, setTransaction);
  await receiptOf(ask, transferTransaction);
  const position = word(caller) + word(counterContract.slots.setBy);

  return {
    caller,
    other,
    counter: {
      address: counter,
      numberPosition: counterContract.slots.number,
      setByPosition: (await ask('web3_sha3', `0x${position}`)) as string,
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

async function deploy(ask: Ask, from: string, code: string): Promise<string> {
  // Mined by the time it answers, unlike eth_sendTransaction.
  const receipt = (await ask('eth_sendTransactionSync', { from, data: code })) as Receipt;
  const { contractAddress } = succeeded(receipt);
  if (contractAddress === null) throw new Error('a contract was not deployed');
  return contractAddress;
}

async function receiptOf(ask: Ask, hash: string): Promise<Receipt> {
  return succeeded((await ask('eth_getTransactionReceipt', hash)) as Receipt | null);
}

function succeeded(receipt: Receipt | null): Receipt {
  if (receipt === null) throw new Error('a transaction was not mined');
  if (receipt.status !== '0x1') throw new Error('a transaction failed');
  return receipt;
}

function setCall(to: number): string {
  return counterContract.selectors.set + word(`0x${to.toString(16)}`);
}

/** Left-padded to 32 bytes, without 0x. */
function word(hex: string): string {
  return hex.slice(2).padStart(64, '0');
}
