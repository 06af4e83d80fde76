import { appendFileSync, closeSync, fstatSync, ftruncateSync, openSync, readFileSync, readSync } from 'node:fs';
import { errorCode } from '../config/log.ts';
import { makePrivateFolderFor, writePrivateFile } from '../auth/stores/private-file.ts';
import { newAmounts, textOf, type Amounts, type UsageBatch } from './usage-store.ts';

/**
 * A file of usage has lines `<key id> <network> <method> <calls> <units> <errors> <bytes>`; those of one key, network and
 * method are to be added up. What is new goes to its end: to write all of it anew each second took a fifth of a core with
 * 10,000 keys, and held up calls for as long at a time.
 * @returns bytes that the file has now
 * @throws what the system says; then nothing was added
 */
export function appendUsage(path: string, batches: readonly UsageBatch[]): number {
  const lines = batches.map(linesOf).join('');
  const file = openToAppend(path);
  try {
    const { size } = fstatSync(file);
    const text = endsLine(file, size) ? lines : `\n${lines}`;
    try {
      appendFileSync(file, text);
    } catch (error) {
      ftruncateSync(file, size);
      throw error;
    }
    return size + text.length;
  } finally {
    closeSync(file);
  }
}

/** Not where a power cut left a piece of a line behind: what comes next would be taken for the rest of it. */
function endsLine(file: number, size: number): boolean {
  if (size === 0) return true;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last.toString() === '\n';
}

function openToAppend(path: string): number {
  try {
    return openSync(path, 'a+', 0o600);
  } catch (error) {
    if (errorCode(error) !== 'ENOENT') throw error;
    makePrivateFolderFor(path);
    return openSync(path, 'a+', 0o600);
  }
}

/** Makes one line of those that belong together. @returns bytes that the file has then */
export function compactUsage(path: string): number {
  const text = [...sums(read(path))].map(([place, amounts]) => `${textOf({ place, ...amounts })}\n`).join('');
  // It is written to each second: to wait for the disk would hold up calls.
  writePrivateFile(path, text, { isLasting: false });
  return text.length;
}

/** By `<network> <method>`. */
export function usageOf(key: string, path: string): Map<string, Amounts> {
  const own = [...sums(read(path))].filter(([who]) => who.startsWith(`${key} `));
  return new Map(own.map(([who, amounts]) => [who.slice(key.length + 1), amounts]));
}

function linesOf({ key, amounts }: UsageBatch): string {
  let lines = '';
  for (const each of amounts) lines += `${key} ${textOf(each)}\n`;
  return lines;
}

/** A line that a power cut left behind in pieces is none. In one pattern: to split each line takes five times as long. */
const wholeLine = /^(\S+ \S+ \S+) (\d+) (\d+) (\d+) (\d+)$/gm;

/** By `<key id> <network> <method>`. */
function sums(text: string): Map<string, Amounts> {
  const found = new Map<string, Amounts>();
  for (const [, who = '', calls, units, errors, bytes] of text.matchAll(wholeLine)) {
    let sum = found.get(who);
    if (sum === undefined) found.set(who, (sum = newAmounts()));
    sum.calls += Number(calls);
    sum.units += Number(units);
    sum.errors += Number(errors);
    sum.bytes += Number(bytes);
  }
  return found;
}

function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return '';
    throw error;
  }
}
