import { appendFileSync, closeSync, fstatSync, ftruncateSync, openSync, readFileSync } from 'node:fs';
import { errorCode } from '../config/log.ts';
import { makePrivateFolderFor, writePrivateFile } from '../keys/private-file.ts';
import { addTo, newAmounts, textOf, type Amounts, type UsageBatch } from './usage-store.ts';

/**
 * A file of usage has lines `<key id> <network> <method> <calls> <units> <errors> <bytes>`; those of one key, network and
 * method are to be added up. What is new goes to its end: to write all of it anew each second took a fifth of a core with
 * 10,000 keys, and held up calls for as long at a time.
 * @returns bytes that the file has now
 * @throws what the system says; then nothing was added
 */
export function appendUsage(path: string, batches: readonly UsageBatch[]): number {
  makePrivateFolderFor(path);
  const file = openSync(path, 'a', 0o600);
  try {
    const { size } = fstatSync(file);
    try {
      appendFileSync(file, batches.map(linesOf).join(''));
    } catch (error) {
      ftruncateSync(file, size);
      throw error;
    }
    return fstatSync(file).size;
  } finally {
    closeSync(file);
  }
}

/** Makes one line of those that belong together. @returns bytes that the file has then */
export function sumUpUsage(path: string): number {
  const text = [...sums(readLines(path))].map(([place, amounts]) => `${textOf({ place, ...amounts })}\n`).join('');
  // It is written to each second: to wait for the disk would hold up calls.
  writePrivateFile(path, text, { isLasting: false });
  return text.length;
}

/** By `<network> <method>`. */
export function usageOf(key: string, path: string): Map<string, Amounts> {
  const own = readLines(path).filter((line) => line.startsWith(`${key} `));
  return new Map([...sums(own)].map(([who, amounts]) => [who.slice(key.length + 1), amounts]));
}

function linesOf({ key, amounts }: UsageBatch): string {
  let lines = '';
  for (const each of amounts) lines += `${key} ${textOf(each)}\n`;
  return lines;
}

/** By `<key id> <network> <method>`. A line that a power cut left behind in pieces holds nothing. */
function sums(lines: readonly string[]): Map<string, Amounts> {
  const found = new Map<string, Amounts>();
  for (const line of lines) {
    const [key, network, method, ...numbers] = line.split(' ');
    const [calls = NaN, units = NaN, errors = NaN, bytes = NaN] = numbers.map(Number);
    if (key === undefined || Number.isNaN(calls + units + errors + bytes)) continue;
    const who = `${key} ${network ?? ''} ${method ?? ''}`;
    let sum = found.get(who);
    if (sum === undefined) found.set(who, (sum = newAmounts()));
    addTo(sum, { calls, units, errors, bytes });
  }
  return found;
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return [];
    throw error;
  }
}
