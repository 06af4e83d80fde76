import { mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { curlLine } from '../gateway/cli/curl-line.ts';
import { CommandError } from '../gateway/cli/exit-codes.ts';
import type { DemoChain } from './demo-chain.ts';

/** Data that a running gateway writes for `gatehouse demo`: address, key and content of its local chain. */
export interface Demo {
  /** Base URL of the local chain's network. */
  readonly baseUrl: string;
  /** The development key, if any. */
  readonly key?: string;
  readonly chain: DemoChain;
}

/** The file also has the pid of its gateway, so that the file of a killed gateway is recognised. */
type DemoFile = Demo & { readonly pid: number };

/** Writes DATA_DIR/demo.json with mode 0600, because it has a key in plain text. Leaves the file of another gateway that runs. */
export function writeDemo(dataDir: string, demo: Demo): void {
  const existing = readDemoFile(dataDir);
  if (existing !== undefined && existing.pid !== process.pid && isRunning(existing.pid)) return;
  mkdirSync(dataDir, { recursive: true });
  const file: DemoFile = { pid: process.pid, ...demo };
  const temporary = `${demoPath(dataDir)}.${process.pid}`;
  // A new file replaces the old one: no reader gets a partial file, and the mode of an old file is not retained.
  rmSync(temporary, { force: true });
  writeFileSync(temporary, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  renameSync(temporary, demoPath(dataDir));
}

/** Removes the file, unless it is from another gateway. */
export function removeDemo(dataDir: string): void {
  if (readDemoFile(dataDir)?.pid === process.pid) rmSync(demoPath(dataDir), { force: true });
}

/**
 * Makes a comment and a shell line for each example on the local chain.
 * @param givenKey replaces the development key
 * @returns undefined if no gateway with a local chain runs
 * @throws CommandError without a key
 */
export function demoLines(dataDir: string, givenKey?: string): string[] | undefined {
  const demo = readDemoFile(dataDir);
  if (demo === undefined || !isRunning(demo.pid)) return undefined;
  const key = givenKey ?? demo.key;
  if (key === undefined) throw new CommandError('this gateway has no development key: pass a key with --key <key>');
  const { caller, counter, gate, setTransaction, transferTransaction, blockHash } = demo.chain;
  const url = callUrl(demo.baseUrl, key);
  // Base URLs of networks differ only in the last part of the path.
  const zksyncUrl = callUrl(new URL('zksync-era', demo.baseUrl).href, key);
  const zksyncParams = [{ from: `0x${'1'.repeat(40)}`, to: `0x${'2'.repeat(40)}`, data: '0x' }];

  // No quotes or brackets in the comments: zsh takes a pasted comment for a command.
  return [
    `# Storage: the number of the counter, in slot 0, is ${counter.value}`,
    storageLine(url, demo.chain),
    '# Storage: the same number in the mapping of the counter, at the keccak of key and slot',
    curlLine(url, 'eth_getStorageAt', [counter.address, counter.setByPosition, 'latest']),
    '# A block, with the hashes of its three transactions',
    curlLine(url, 'eth_getBlockByHash', [blockHash, false]),
    '# An uncle of that block: chains since the merge have none, so null',
    curlLine(url, 'eth_getUncleByBlockHashAndIndex', [blockHash, '0x0']),
    '# The receipt of the transaction that set the number, with a log',
    curlLine(url, 'eth_getTransactionReceipt', [setTransaction]),
    '# The gas that setting the number again would take',
    curlLine(url, 'eth_estimateGas', [{ from: caller, to: counter.address, data: counter.calls.set }]),
    '# A call that reverts: error code 3, with the revert reason of the contract',
    curlLine(url, 'eth_estimateGas', [{ from: caller, to: gate.address, data: gate.calls.open }]),
    '# A transaction: one ether from one account to another',
    curlLine(url, 'eth_getTransactionByHash', [transferTransaction]),
    '# The number of the newest block',
    curlLine(url, 'eth_blockNumber', []),
    '# The balance of the sender of that ether, in Wei',
    curlLine(url, 'eth_getBalance', [caller, 'latest']),
    '# A call: the counter returns its number',
    curlLine(url, 'eth_call', [{ to: counter.address, data: counter.calls.number }, 'latest']),
    '# The fee of a transaction on zkSync Era, from a public node: needs internet access. To run it, remove the #',
    `# ${curlLine(zksyncUrl, 'zks_estimateFee', zksyncParams)}`,
  ];
}

/** Makes the shell line that reads the number of the counter from the storage of the local chain. */
export function storageLine(url: string, { counter }: DemoChain): string {
  return curlLine(url, 'eth_getStorageAt', [counter.address, counter.numberPosition, 'latest']);
}

function callUrl(baseUrl: string, key: string): string {
  return `${baseUrl}/v3/${key}`;
}

function demoPath(dataDir: string): string {
  return join(dataDir, 'demo.json');
}

function readDemoFile(dataDir: string): DemoFile | undefined {
  try {
    return (JSON.parse(readFileSync(demoPath(dataDir), 'utf8')) as DemoFile | null) ?? undefined;
  } catch {
    return undefined;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'; // exists, but belongs to another user
  }
}
