import type { KeyStore } from '../auth/stores/key-store.ts';
import { lastDays, USAGE_RETENTION_DAYS, type UsageBatch, type UsageStore } from '../usage/usage-store.ts';
import { readLine, type BackupLine } from './backup-line.ts';

/** Keys, and days of usage, that are written at once. */
const MAX_CONCURRENT = 200;

type KeyLine = Extract<BackupLine, { kind: 'key' }>;
type ContentLine = Extract<BackupLine, { kind: 'key' | 'usage' }>;
type EndLine = Extract<BackupLine, { kind: 'end' }>;

/** `there`: keys, or days of a key with usage, that the store already had. `expired`: days before those that are kept. */
export interface RestoreCounts {
  readonly keys: { readonly added: number; readonly there: number };
  readonly days: { readonly added: number; readonly there: number; readonly expired: number };
}

/** A backup that cannot be restored. The message has the lines. */
export class BackupError extends Error {}

/** `keys` and `days`: numbers of lines that can be restored. `unreadable`: what is wrong with the others, with their lines. */
export interface BackupContent {
  readonly keys: number;
  readonly days: number;
  readonly unreadable: readonly string[];
}

/** Reads a backup to its end, and writes nothing. @throws BackupError if it is none, or of another version */
export async function checkBackup(lines: AsyncIterable<string>): Promise<BackupContent> {
  const found = { key: 0, usage: 0 };
  const unreadable: string[] = [];
  for await (const { kind } of readBackup(lines, unreadable)) found[kind]++;
  return { keys: found.key, days: found.usage, unreadable };
}

/**
 * Reads the keys and the usage of a backup.
 * @param unreadable gets what cannot be read
 * @throws BackupError for line 1: without its version, it is unknown what the others mean
 */
async function* readBackup(lines: AsyncIterable<string>, unreadable: string[]): AsyncIterable<ContentLine> {
  const found = { key: 0, usage: 0 };
  let end: EndLine | undefined;
  let number = 0;
  for await (const text of lines) {
    number++;
    const line = readLine(text);
    if (number === 1) {
      if (typeof line === 'string') throw new BackupError(`line 1: ${line}`);
      if (line.kind !== 'start') throw new BackupError('line 1: the format is missing');
    } else if (typeof line === 'string') unreadable.push(`line ${number}: ${line}`);
    else if (line.kind === 'start') unreadable.push(`line ${number}: the format belongs to line 1`);
    else if (end !== undefined) unreadable.push(`line ${number}: nothing may follow the end`);
    else if (line.kind === 'end') end = line;
    else {
      found[line.kind]++;
      yield line;
    }
  }
  if (end === undefined) unreadable.push(`line ${number + 1}: the end is missing, so the backup is incomplete`);
  else if (unreadable.length === 0 && (end.keys !== found.key || end.days !== found.usage)) {
    const expected = `expected ${end.keys} keys and ${end.days} days of usage before the end`;
    unreadable.push(`line ${number}: ${expected}, found ${found.key} and ${found.usage}`);
  }
}

/**
 * Adds what the stores do not have. Existing keys stay as they are, except that revocations are added; so does the usage of a
 * key on a day that has some. Repeating it is safe.
 * @param lines those that `checkBackup` finds unreadable are left out
 * @param onAdded called for each key that was added
 * @throws StoreUnreachable
 */
export async function restore(
  lines: AsyncIterable<string>,
  keys: KeyStore,
  usage: UsageStore,
  onAdded: (digest: string) => Promise<void>,
): Promise<RestoreCounts> {
  const counts = { keys: { added: 0, there: 0 }, days: { added: 0, there: 0, expired: 0 } };
  const [oldest = ''] = lastDays(USAGE_RETENTION_DAYS);
  let batches: UsageBatch[] = [];
  const writeUsage = async (): Promise<void> => {
    const rest = await usage.add(batches);
    if (rest.length > 0) throw new BackupError(`${rest.length} days of usage could not be written: restore again`);
    batches = [];
  };
  let keyLines: KeyLine[] = [];
  const writeKeys = async (): Promise<void> => {
    const lines = keyLines;
    keyLines = [];
    const added = await Promise.all(lines.map(({ digest, key }) => keys.add(digest, key)));
    for (const [index, { digest }] of lines.entries()) {
      counts.keys[added[index] === true ? 'added' : 'there']++;
      if (added[index] === true) await onAdded(digest);
    }
  };
  for await (const line of readBackup(lines, [])) {
    if (line.kind === 'key') {
      if (keyLines.push(line) >= MAX_CONCURRENT) await writeKeys();
    } else {
      const { key, day, amounts } = line;
      // A scan of Redis may return a name twice.
      const isRepeated = batches.some((batch) => batch.key === key && batch.day === day);
      if (day < oldest) counts.days.expired++;
      else if (isRepeated || (await usage.read(key, [day])).length > 0) counts.days.there++;
      else batches.push({ key, day, amounts, number: ++counts.days.added });
      if (batches.length >= MAX_CONCURRENT) await writeUsage();
    }
  }
  await writeKeys();
  await writeUsage();
  return counts;
}
